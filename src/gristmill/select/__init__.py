"""Selection: one decision a file, in an enforced order; `plan` decides from audits, `freeze` carries out."""
