package preview

import (
	"fmt"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

// small are steps that change nothing that a user sees.
var small = map[string]bool{"Close": true, "ForgetRecord": true, "ForgetDrain": true}

// phrases say what is done for a member without its name, so that the same can be said of several.
var phrases = map[string]func(step.Step) string{
	"Restart": func(s step.Step) string {
		if without := s.(step.Restart).Without; without != "" {
			return "restart without: " + without
		}
		return "restart"
	},
	"EvictLeaders":  say("evict region leaders"),
	"AllowLeaders":  say("allow region leaders"),
	"RemoveStore":   say("take its store offline"),
	"RestoreStore":  say("bring its store back up"),
	"RemoveMember":  say("remove it from PD"),
	"MarkClaims":    say("mark its claims as left over"),
	"UnmarkClaims":  say("take the mark off its claims"),
	"DeletePod":     say("recreate its pod"),
	"ReplaceEnded":  say("recreate its pod, which has ended"),
	"ClosePump":     say("close it"),
	"DrainCapture":  say("move its tables to other captures"),
	"RecordFailure": say("give it up"),
	"RetireFailure": say("ask for a replacement"),
	"ForgetFailure": say("end its failover"),
	"MoveLeader":    func(s step.Step) string { return "move PD leader to " + s.(step.MoveLeader).To },
	"MovePrimary":   func(s step.Step) string { return "move the primary to " + s.(step.MovePrimary).To },
	"ResizeClaim": func(s step.Step) string {
		r := s.(step.ResizeClaim)
		return fmt.Sprintf("grow its volume %s from %s to %s", strings.TrimSuffix(r.Name, "-"+r.Member), r.From, r.Size)
	},
	"ModifyClaim": func(s step.Step) string {
		r := s.(step.ModifyClaim)
		return fmt.Sprintf("give its volume %s VolumeAttributesClass %s", strings.TrimSuffix(r.Name, "-"+r.Member), r.Class)
	},
	"DeleteClaim": func(s step.Step) string {
		if s.(step.DeleteClaim).Reclaim {
			return "delete its left-over claims and their volumes"
		}
		return "delete its left-over claims"
	},
}

func say(text string) func(step.Step) string { return func(step.Step) string { return text } }

// phrase returns what a step does.
func phrase(s step.Step) string {
	if p := phrases[s.Action()]; p != nil {
		return p(s)
	}
	return s.String()
}
