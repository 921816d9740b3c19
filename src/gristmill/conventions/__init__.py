"""Whether recorded numbers mean what a card says: pure detectors, one a file, that checks of conventions share.

Each looks at one episode's numbers and at what the card claims of them, and needs a certain signal; without it the
question stays open.
"""
