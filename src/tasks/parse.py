"""."""
def run(s):
    pass
