// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kinds of webhook configurations.
const (
	validating = "ValidatingWebhookConfiguration"
	mutating   = "MutatingWebhookConfiguration"
)

// webhook is a configuration of either kind.
type webhook struct {
	kind   string
	object client.Object
	// concerns says that it is asked about the kinds that are taken over, own that the system has made it.
	concerns, own bool
}

func (w webhook) String() string { return w.kind + " " + w.object.GetName() }

// key is where the record keeps it.
func (w webhook) key() string { return webhookPrefix + w.kind + "." + w.object.GetName() + keySuffix }

// describe finds out whose configuration it is.
func (m *migration) describe(kind string, object client.Object) webhook {
	w := webhook{kind: kind, object: object}
	var names []string
	one := func(name string, rules []admissionv1.RuleWithOperations) {
		names = append(names, name)
		w.concerns = w.concerns || m.system.concernsGroups(rules)
	}
	switch configuration := object.(type) {
	case *admissionv1.ValidatingWebhookConfiguration:
		for _, webhook := range configuration.Webhooks {
			one(webhook.Name, webhook.Rules)
		}
	case *admissionv1.MutatingWebhookConfiguration:
		for _, webhook := range configuration.Webhooks {
			one(webhook.Name, webhook.Rules)
		}
	}
	w.own = w.concerns && m.system.ownsWebhook(object.GetName(), names)
	return w
}

// readWebhooks lists all configurations of both kinds.
func (m *migration) readWebhooks(ctx context.Context) ([]webhook, error) {
	var all []webhook
	var validatings admissionv1.ValidatingWebhookConfigurationList
	err := m.each(ctx, &validatings, func() error {
		for i := range validatings.Items {
			all = append(all, m.describe(validating, validatings.Items[i].DeepCopy()))
		}
		return nil
	})
	if err != nil {
		return nil, m.access.Explain(err, "list ValidatingWebhookConfigurations", "")
	}
	var mutatings admissionv1.MutatingWebhookConfigurationList
	err = m.each(ctx, &mutatings, func() error {
		for i := range mutatings.Items {
			all = append(all, m.describe(mutating, mutatings.Items[i].DeepCopy()))
		}
		return nil
	})
	return all, m.access.Explain(err, "list MutatingWebhookConfigurations", "")
}

// packWebhook is what the record keeps of a configuration: everything that people have written.
func packWebhook(w webhook) (string, error) {
	switch object := w.object.(type) {
	case *admissionv1.ValidatingWebhookConfiguration:
		return pack(&admissionv1.ValidatingWebhookConfiguration{ObjectMeta: written(object), Webhooks: object.Webhooks})
	case *admissionv1.MutatingWebhookConfiguration:
		return pack(&admissionv1.MutatingWebhookConfiguration{ObjectMeta: written(object), Webhooks: object.Webhooks})
	}
	return "", fmt.Errorf("%s is not a webhook configuration", w)
}

func unpackWebhook(kind, text string) (client.Object, error) {
	var object client.Object = &admissionv1.ValidatingWebhookConfiguration{}
	if kind == mutating {
		object = &admissionv1.MutatingWebhookConfiguration{}
	}
	return object, json.Unmarshal([]byte(text), object)
}

// removeWebhooks removes those of the system. Nobody answers them any more, so each write would fail.
func (m *migration) removeWebhooks(ctx context.Context) ([]Step, error) {
	all, err := m.readWebhooks(ctx)
	if err != nil {
		return nil, err
	}
	var steps []Step
	for _, w := range all {
		if !w.own {
			continue
		}
		// The webhook server may have written it since the record was made.
		if err := m.remember(ctx); err != nil {
			return steps, err
		}
		precondition := client.Preconditions(metav1.Preconditions{UID: new(w.object.GetUID())})
		if err := m.client.Delete(ctx, w.object, precondition); err != nil && !apierrors.IsNotFound(err) {
			return steps, m.access.Explain(err, "delete "+w.String(), "")
		}
		steps = append(steps, Step{w.String(), "removed"})
	}
	return steps, nil
}

// restoreWebhooks creates what was removed. One that exists again stays: the webhook server writes it by itself.
func (m *migration) restoreWebhooks(ctx context.Context) ([]Step, error) {
	var steps []Step
	for _, kind := range []string{validating, mutating} {
		for _, key := range m.record.keys(webhookPrefix + kind + ".") {
			object, err := unpackWebhook(kind, m.record.Objects[key])
			if err != nil {
				return steps, m.damaged(key)
			}
			step := Step{kind + " " + object.GetName(), "restored"}
			err = m.client.Create(ctx, object)
			if apierrors.IsAlreadyExists(err) {
				step.Done, err = nothingToDo, nil
			}
			if err != nil {
				return steps, m.access.Explain(err, "create "+step.Object, "")
			}
			steps = append(steps, step)
		}
	}
	return steps, nil
}
