package ruby

// Op is the kind of an event.
type Op uint8

// The kinds of events.
const (
	Read     Op = iota // of the node's merged view
	Write              // of a level of the node's attributes
	Whole              // the node itself is passed to something that may read all of it
	Resource           // a resource is declared
	Include            // another recipe is included
)

// Phase is when an event happens.
type Phase uint8

// The phases of a Chef run.
const (
	Compile  Phase = iota
	Converge       // when the resource around it converges
	AnyTime        // either
)

// Event is a read, write or declaration in a text.
type Event struct {
	Op    Op
	Phase Phase
	// Perhaps is set if it may not happen.
	Perhaps bool
	// Path is the place in the node, and all below it if a computed key follows.
	Path []string
	// Presence is set if only the keys are read, unless the place is a value.
	Presence bool
	// Grows is set if the write adds to a list or a map.
	Grows bool
	// Scalar is set if the written value is certainly a string, a number or a boolean,
	// Compound if it is a list, a map, null or lazy.
	Scalar, Compound bool
	// Name is a resource as TYPE[NAME], or a recipe; "" if it is computed.
	Name string
	// Properties are those of a resource, by name: their value if it is one literal string,
	// or "".
	Properties map[string]string
	// Waits is set if a resource acts only when notified.
	Waits bool
	// Resource is the index of the resource event that the event belongs to; -1 is none.
	Resource int
	From, To int
}
