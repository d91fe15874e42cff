// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/events"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/pipeline"
	"espalier.dev/internal/testkit"
)

func promotionNews(environment string, from, to pipelines.PromotionState) pipeline.News {
	return pipeline.News{Reason: "Promotion" + string(to), Message: environment, Environment: environment, From: from, To: to}
}

func TestAPromotionThatIsAttemptedAtOnceIsOneEvent(t *testing.T) {
	recorder := events.NewFakeRecorder(10)
	(&kind{events: recorder}).tell(testkit.Pipeline("shop", "cart").Build(), []pipeline.News{
		{Reason: "RunStarted", Message: "run 1"},
		promotionNews("staging", "", pipelines.PromotionUnattempted),
		promotionNews("prod", "", pipelines.PromotionUnattempted),
		promotionNews("staging", pipelines.PromotionUnattempted, pipelines.PromotionAttempting),
		promotionNews("test", pipelines.PromotionUnapproved, pipelines.PromotionUnattempted),
		promotionNews("test", pipelines.PromotionUnattempted, pipelines.PromotionAttempting),
	})
	close(recorder.Events)
	var told []string
	for event := range recorder.Events {
		told = append(told, event)
	}
	want := []string{
		"Normal RunStarted run 1", "Normal PromotionUnattempted prod", "Normal PromotionAttempting staging",
		"Normal PromotionUnattempted test", "Normal PromotionAttempting test",
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
}
