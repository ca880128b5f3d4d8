"""Functions of this machine that several packages need: environment, mirrors, locks, removal, limits for outside input."""
