"""Random combinations of what can be published, each taken through everything."""
