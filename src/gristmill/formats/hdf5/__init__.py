"""HDF5 recordings: opening them safely, and the layouts of robomimic, ALOHA and CS:GO."""
