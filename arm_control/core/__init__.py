"""What every other folder stands on: parameters, the package's files, the cache, progress bars."""
