package placement

// The collision arithmetic with m as a parameter, for simulation with an m small
// enough to fill.
var (
	ExpectedCollidingOf = expectedColliding
	IDsBehindOf         = idsBehind
)
