"""Published studies, computed anew from released surprisals and from runs."""
