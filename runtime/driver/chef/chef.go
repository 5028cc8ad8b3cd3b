// Package chef is about roles that are run by Chef or Cinc.
package chef

import "embed"

// Interceptor is the Ruby that a Chef run requires, so that its own reads and writes
// of node attributes become the role's: ruby/hotc.rb says how.
//
//go:embed ruby/*.rb
var Interceptor embed.FS
