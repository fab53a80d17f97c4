"""The dialect of BMAD: a tracker of stories, a file each, and the verdicts of reviews (versions 4 and 6)."""
