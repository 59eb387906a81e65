"""Reading: lists and their pages, watches and their lines, and the selectors of both."""
