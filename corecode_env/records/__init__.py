"""Records: what is kept and shown. Episodes on disk, replay, viewer."""
