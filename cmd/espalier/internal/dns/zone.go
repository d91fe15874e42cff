// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
)

const (
	timeToLive = 5 // seconds
	// maxAliases limits how many names of other services an answer follows.
	maxAliases = 4
)

// zone knows the services of a cluster by their names.
type zone struct {
	domain    string // in lower case, with the trailing dot
	services  corelisters.ServiceLister
	endpoints discoverylisters.EndpointSliceLister
}

// answer is the zone's answer for a name.
type answer struct {
	code    dnsmessage.RCode
	records []dnsmessage.Resource
}

var (
	unknown = answer{code: dnsmessage.RCodeNameError}
	// foreign is the answer for names outside the cluster, which cannot be resolved from inside the node.
	foreign = answer{code: dnsmessage.RCodeRefused}
)

// ask never fails: the code of the answer shows what is unknown.
func (z zone) ask(question dnsmessage.Question) answer {
	if question.Class != dnsmessage.ClassINET && question.Class != dnsmessage.ClassANY {
		return foreign
	}
	return z.find(strings.ToLower(question.Name.String()), question, maxAliases)
}

func (z zone) find(name string, question dnsmessage.Question, aliases int) answer {
	inside, found := strings.CutSuffix("."+name, "."+z.domain)
	switch {
	case strings.HasSuffix(name, ".in-addr.arpa."), strings.HasSuffix(name, ".ip6.arpa."):
		return unknown // There are no reverse lookups.
	case !found:
		return foreign
	case inside == "":
		return answer{}
	}
	labels := strings.Split(strings.TrimPrefix(inside, "."), ".")
	last := len(labels) - 1
	if labels[last] != "svc" {
		return unknown
	}
	labels = labels[:last]
	switch len(labels) {
	case 0:
		return answer{}
	case 1:
		return z.namespace(labels[0])
	}
	service, err := z.services.Services(labels[len(labels)-1]).Get(labels[len(labels)-2])
	if err != nil {
		return unknown
	}
	return z.ofService(service, labels[:len(labels)-2], lookup{name: question.Name, kind: question.Type, aliases: aliases})
}

// namespace answers for a namespace, which is known if there are names below it.
func (z zone) namespace(name string) answer {
	services, err := z.services.Services(name).List(labels.Everything())
	if err != nil || len(services) == 0 {
		return unknown
	}
	return answer{}
}

// lookup is a question about a service.
type lookup struct {
	name    dnsmessage.Name
	kind    dnsmessage.Type
	aliases int
}

// ofService parses the prefix of the name of the service: nothing, the name of an endpoint, or a port and its protocol.
func (z zone) ofService(service *corev1.Service, prefix []string, l lookup) answer {
	switch {
	case len(prefix) == 0 && service.Spec.Type == corev1.ServiceTypeExternalName:
		return z.alias(service.Spec.ExternalName, l)
	case len(prefix) == 0:
		return l.addresses(z.addressesOf(service, ""))
	case len(prefix) == 1:
		addresses := z.addressesOf(service, prefix[0])
		if len(addresses) == 0 {
			return unknown
		}
		return l.addresses(addresses)
	case len(prefix) == 2:
		return z.port(service, strings.TrimPrefix(prefix[0], "_"), strings.TrimPrefix(prefix[1], "_"), l)
	}
	return unknown
}

// alias answers with the other name and, if that is in the zone, with the answer for it.
func (z zone) alias(target string, l lookup) answer {
	name, err := dnsmessage.NewName(strings.TrimSuffix(target, ".") + ".")
	if err != nil {
		return unknown
	}
	records := []dnsmessage.Resource{l.record(dnsmessage.TypeCNAME, &dnsmessage.CNAMEResource{CNAME: name})}
	if l.kind == dnsmessage.TypeCNAME || l.aliases == 0 {
		return answer{records: records}
	}
	question := dnsmessage.Question{Name: name, Type: l.kind, Class: dnsmessage.ClassINET}
	beyond := z.find(strings.ToLower(name.String()), question, l.aliases-1)
	return answer{records: append(records, beyond.records...)}
}

func (l lookup) record(kind dnsmessage.Type, body dnsmessage.ResourceBody) dnsmessage.Resource {
	return dnsmessage.Resource{
		Header: dnsmessage.ResourceHeader{Name: l.name, Type: kind, Class: dnsmessage.ClassINET, TTL: timeToLive}, Body: body,
	}
}

func (l lookup) addresses(all []netip.Addr) answer {
	var result answer
	for _, address := range all {
		switch {
		case address.Is4() && (l.kind == dnsmessage.TypeA || l.kind == dnsmessage.TypeALL):
			result.records = append(result.records, l.record(dnsmessage.TypeA, &dnsmessage.AResource{A: address.As4()}))
		case address.Is6() && (l.kind == dnsmessage.TypeAAAA || l.kind == dnsmessage.TypeALL):
			result.records = append(result.records, l.record(dnsmessage.TypeAAAA, &dnsmessage.AAAAResource{AAAA: address.As16()}))
		}
	}
	return result
}

// addressesOf returns the addresses of the service, or, if it has none or a host is named, of its endpoints.
func (z zone) addressesOf(service *corev1.Service, host string) []netip.Addr {
	var texts []string
	if host == "" && service.Spec.ClusterIP != corev1.ClusterIPNone {
		texts = service.Spec.ClusterIPs
	} else {
		for _, endpoint := range z.endpointsOf(service) {
			if host == "" || endpoint.Hostname != nil && *endpoint.Hostname == host {
				texts = append(texts, endpoint.Addresses...)
			}
		}
	}
	var result []netip.Addr
	for _, text := range texts {
		if address, err := netip.ParseAddr(text); err == nil {
			result = append(result, address)
		}
	}
	slices.SortFunc(result, netip.Addr.Compare)
	return slices.Compact(result)
}

// endpointsOf returns the ready endpoints, in a fixed order.
func (z zone) endpointsOf(service *corev1.Service) []discoveryv1.Endpoint {
	selector := labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: service.Name})
	found, err := z.endpoints.EndpointSlices(service.Namespace).List(selector)
	if err != nil {
		return nil
	}
	slices.SortFunc(found, func(a, b *discoveryv1.EndpointSlice) int { return cmp.Compare(a.Name, b.Name) })
	var result []discoveryv1.Endpoint
	for _, slice := range found {
		for _, endpoint := range slice.Endpoints {
			if ready := endpoint.Conditions.Ready; ready == nil || *ready {
				result = append(result, endpoint)
			}
		}
	}
	return result
}

// port answers for a named port: at the service, or at each endpoint that has a name.
func (z zone) port(service *corev1.Service, name, protocol string, l lookup) answer {
	at := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool {
		return p.Name == name && strings.EqualFold(string(p.Protocol), protocol)
	})
	if at < 0 {
		return unknown
	}
	if l.kind != dnsmessage.TypeSRV && l.kind != dnsmessage.TypeALL {
		return answer{}
	}
	port := uint16(service.Spec.Ports[at].Port)
	own := service.Name + "." + service.Namespace + ".svc." + z.domain
	hosts := []string{own}
	if service.Spec.ClusterIP == corev1.ClusterIPNone {
		hosts = nil
		for _, endpoint := range z.endpointsOf(service) {
			if endpoint.Hostname != nil {
				hosts = append(hosts, *endpoint.Hostname+"."+own)
			}
		}
	}
	var result answer
	for _, host := range hosts {
		if target, err := dnsmessage.NewName(host); err == nil {
			result.records = append(result.records, l.record(dnsmessage.TypeSRV, &dnsmessage.SRVResource{Weight: 1, Port: port, Target: target}))
		}
	}
	return result
}
