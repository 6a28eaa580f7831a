package diag

// AuthorDirectly is the remedy for what the conversion route does not take and the authored route does.
const AuthorDirectly = "author the native layers directly"
