package ruby

// Op is what an event is.
type Op uint8

// The events.
const (
	Read     Op = iota // of the node's merged view
	Write              // of a level of the node's attributes
	Whole              // the node itself is given to something that may read all of it
	Resource           // a resource is declared
	Include            // another recipe is included
)

// Phase is when an event happens.
type Phase uint8

// The phases of a Chef run.
const (
	Compile  Phase = iota
	Converge       // when the resource around it converges
	AnyTime        // one or the other
)

// Event is something that a text does.
type Event struct {
	Op    Op
	Phase Phase
	// Perhaps says that it need not happen.
	Perhaps bool
	// Path is the place in the node. What lies below it is meant, too, where the key
	// that follows is computed.
	Path []string
	// Presence says that only what keys are there is asked, unless the place is a value.
	Presence bool
	// Grows says that what is written is not all of the value: a list or a map is added
	// to.
	Grows bool
	// Scalar says that what is written is a text, a number or a boolean for certain,
	// Compound that it is a list, a map, null or lazy.
	Scalar, Compound bool
	// Name is a resource as TYPE[NAME], or a recipe; "" where it is computed.
	Name string
	// Properties are those of a resource, by name, that are given as one text; others
	// that it has are "".
	Properties map[string]string
	// Waits says of a resource that it acts only when it is notified.
	Waits bool
	// Resource is which resource the event belongs to, by its number among the events'
	// resources; -1 is none.
	Resource int
	From, To int
}
