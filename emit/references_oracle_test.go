package emit_test

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/emit/heat/heattest"
)

// What hotc calls an error in a template, stock Heat refuses; where hotc only warns
// or says nothing, Heat accepts.
func TestReferencesAsHeatHasThem(t *testing.T) {
	const resource = "  it: {type: 'OS::Heat::Value', "
	for name, lines := range map[string]string{
		"parameter":                               resource + "properties: {value: {get_param: nam}}}",
		"parameter, in a text":                    resource + "properties: {value: {str_replace: {template: x, params: {x: {get_param: nam}}}}}}",
		"parameter, path":                         resource + "properties: {value: {get_param: [nam, x]}}}",
		"pseudo parameter":                        resource + "properties: {value: {get_param: 'OS::project_id'}}}",
		"pseudo parameter, misspelt":              resource + "properties: {value: {get_param: 'OS::projct_id'}}}",
		"resource":                                resource + "properties: {value: {get_resource: ot}}}",
		"attribute":                               resource + "properties: {value: {get_attr: [ot, value]}}}",
		"dependency":                              resource + "depends_on: ot, properties: {value: 1}}",
		"dependency, absent":                      resource + "depends_on: absent, properties: {value: 1}}",
		"argument":                                resource + "properties: {value: {list_join: [a, b]}}}",
		"metadata":                                resource + "metadata: {x: {get_resource: ot}}, properties: {value: 1}}",
		"condition":                               resource + "condition: larg, properties: {value: 1}}",
		"absent resource":                         resource + "properties: {value: {get_resource: absent}}}",
		"absent resource, in an if":               resource + "properties: {value: {if: [never, {get_resource: absent}, 1]}}}",
		"in a branch, not taken":                  resource + "properties: {value: {if: [never, {get_param: nam}, 1]}}}",
		"in a branch, taken":                      resource + "properties: {value: {if: [never, 1, {get_param: nam}]}}}",
		"in an absent resource":                   resource + "condition: never, properties: {value: {get_param: nam}}}",
		"in a group's definition":                 "  it: {type: 'OS::Heat::ResourceGroup', properties: {count: 1, resource_def: {type: 'OS::Heat::Value', properties: {value: {get_param: nam}}}}}",
		"in a repeat":                             resource + "properties: {value: {repeat: {for_each: {<%n%>: [name, size]}, template: {get_param: <%n%>}}}}}",
		"in a repeat, misspelt":                   resource + "properties: {value: {repeat: {for_each: {<%n%>: [nam, size]}, template: {get_param: <%n%>}}}}}",
		"output":                                  resource + "properties: {value: 1}}\noutputs: {o: {value: {get_attr: [ot, value]}}}",
		"output, not there":                       resource + "properties: {value: 1}}\noutputs: {o: {condition: never, value: {get_attr: [ot, value]}}}",
		"output of what is not there":             resource + "properties: {value: 1}}\noutputs: {o: {value: {get_attr: [absent, value]}}}",
		"unused condition":                        resource + "properties: {value: 1}}\nconditions: {c: {equals: [{get_param: nam}, 1]}}",
		"unused condition, argument":              resource + "properties: {value: 1}}\nconditions: {c: {equals: [1]}}",
		"unused condition, of many":               resource + "properties: {value: 1}}\nconditions: {c: {and: [{equals: [{get_param: nam}, 1]}, d]}, d: {equals: [1, 1]}}",
		"unused condition, name":                  resource + "properties: {value: 1}}\nconditions: {c: {not: larg}}",
		"unused condition, list_join":             resource + "properties: {value: 1}}\nconditions: {c: {equals: [{list_join: [a, b]}, x]}}",
		"unused condition, no condition":          resource + "properties: {value: 1}}\nconditions: {c: {equals: [{get_attr: [other, value]}, x]}}",
		"condition, in an output":                 resource + "properties: {value: 1}}\noutputs: {o: {condition: c, value: 1}}\nconditions: {c: {equals: [{get_param: nam}, 1]}}",
		"condition, in an if":                     resource + "properties: {value: {if: [c, 1, 2]}}}\nconditions: {c: {equals: [{get_param: nam}, 1]}}",
		"condition, in an if of an output":        resource + "properties: {value: 1}}\noutputs: {o: {value: {if: [c, 1, 2]}}}\nconditions: {c: {equals: [{get_param: nam}, 1]}}",
		"condition, in an if that is not taken":   resource + "properties: {value: {if: [d, {if: [c, 1, 2]}, 2]}}}\nconditions: {c: {equals: [{get_param: nam}, 1]}, d: {equals: [1, 2]}}",
		"condition, of one that is used":          resource + "properties: {value: {if: [d, 1, 2]}}}\nconditions: {c: {equals: [{get_param: nam}, 1]}, d: {not: c}}",
		"condition, of one that is not used":      resource + "properties: {value: 1}}\nconditions: {c: {equals: [{get_param: nam}, 1]}, d: {not: c}}",
		"condition, of one that is decided":       resource + "properties: {value: {if: [d, 1, 2]}}}\nconditions: {c: {equals: [{get_param: nam}, 1]}, d: {or: [e, c]}, e: {equals: [1, 1]}}",
		"condition, in a value that is not an if": resource + "properties: {value: c}}\nconditions: {c: {equals: [{get_param: nam}, 1]}}",
		"condition that reads too much":           resource + "condition: {equals: [{get_param: nam}, 1]}, properties: {value: 1}}",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "main.yaml")
			lines, conditions, _ := strings.Cut(lines, "\nconditions: {")
			text := "heat_template_version: 2018-08-31\nparameters:\n  name: {type: string, default: x}\n  size: {type: string, default: y}\nconditions: {never: {equals: [a, b]}, " + cmp.Or(conditions, "}") + "\nresources:\n" +
				"  other: {type: 'OS::Heat::Value', properties: {value: 1}}\n  absent: {type: 'OS::Heat::Value', condition: never, properties: {value: 1}}\n" + lines + "\n"
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, found := compile(t, options(path))
			verdict := stockHeat.Oracle(t).Validate(t, heattest.Input{Template: path})
			if accepts := !strings.Contains(found, "error["); accepts != verdict.Accepted {
				t.Errorf("hotc: %s\nHeat: accepted %v %s", found, verdict.Accepted, verdict.Error)
			}
		})
	}
}
