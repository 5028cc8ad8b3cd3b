package up

import (
	"testing"

	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/runtime/heat"
)

func TestNext(t *testing.T) {
	for _, x := range []struct {
		what    string
		publish deploy.Outcome
		stack   heat.State
		asked   bool
		failed  bool
		want    Step
	}{
		{"nothing is there", deploy.Created, "", false, false, Create},
		{"killed before the plan was published", deploy.Created, "", false, false, Create},
		{"killed while the plan was published", deploy.Resumed, "", false, false, Create},
		{"killed before Heat was asked", deploy.Unchanged, "", false, false, Create},
		{"a deployment that a deleted stack has left", deploy.Updated, "", false, false, Create},
		{"deleted", deploy.Created, "DELETE_COMPLETE", true, false, Create},
		{"killed while Heat creates", deploy.Unchanged, "CREATE_IN_PROGRESS", true, false, Follow},
		{"the coordinator has lost it", deploy.Created, "CREATE_IN_PROGRESS", true, false, Follow},
		{"a role has failed, and Heat does not know yet", deploy.Unchanged, "CREATE_IN_PROGRESS", true, true, Follow},
		{"done already", deploy.Unchanged, "CREATE_COMPLETE", true, false, Follow},
		{"created, then a role failed when its server was built anew", deploy.Unchanged, "CREATE_COMPLETE", true, true, Mend},
		{"Heat could not create it", deploy.Unchanged, "CREATE_FAILED", true, false, Mend},
		{"a role failed", deploy.Unchanged, "CREATE_FAILED", true, true, Mend},
		{"a role failed, and its script is another one now", deploy.Updated, "CREATE_FAILED", true, true, Update},
		{"another template", deploy.Unchanged, "CREATE_COMPLETE", false, false, Update},
		{"another script", deploy.Updated, "UPDATE_COMPLETE", true, false, Update},
		{"another template while Heat creates", deploy.Unchanged, "CREATE_IN_PROGRESS", false, false, Update},
		{"killed between the plan and Heat's update", deploy.Unchanged, "CREATE_COMPLETE", false, false, Update},
		{"killed while Heat updates", deploy.Unchanged, "UPDATE_IN_PROGRESS", true, false, Follow},
		{"an update failed", deploy.Unchanged, "UPDATE_FAILED", true, false, Mend},
		{"rolled back", deploy.Unchanged, "ROLLBACK_COMPLETE", true, false, Update},
		{"checked", deploy.Unchanged, "CHECK_COMPLETE", true, false, Follow},
		{"a check failed", deploy.Unchanged, "CHECK_FAILED", true, false, Mend},
		{"it goes", deploy.Unchanged, "DELETE_IN_PROGRESS", true, false, AwaitEnd},
		{"it could not go", deploy.Unchanged, "DELETE_FAILED", true, false, Refuse},
		{"suspended", deploy.Unchanged, "SUSPEND_COMPLETE", true, false, Refuse},
		{"resumed", deploy.Unchanged, "RESUME_COMPLETE", true, false, Follow},
	} {
		if got := Next(Facts{x.publish, x.stack, x.asked, x.failed}); got != x.want {
			t.Errorf("%s (%s, %s): %s, want %s", x.what, x.publish, x.stack, got, x.want)
		}
	}
}
