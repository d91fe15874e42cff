// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"math"
	"net/netip"
	"strings"
)

// addresses is a range of consecutive addresses.
type addresses struct {
	first netip.Addr
	count int64
}

// callIPSet selects addresses from ranges: the first ones, or those at given indexes.
func callIPSet(c *invocation) (value, error) {
	if err := c.takes(2, -1); err != nil {
		return nil, err
	}
	ranges, err := c.ranges()
	if err != nil {
		return nil, err
	}
	count, err := c.integer(1)
	if err != nil {
		return nil, err
	}
	if count < 0 || count > math.MaxInt32 {
		return nil, problem("function ipset: the set does not have so many addresses")
	}
	if err := c.buildRepeated(int(count), sizeOfCell); err != nil {
		return nil, err
	}
	var indexes []int64
	if len(c.args) == 2 {
		for index := range count {
			indexes = append(indexes, index)
		}
	} else if indexes, err = c.env.run.indexes(c.name, c.args[2:]); err != nil {
		return nil, err
	}
	if int64(len(indexes)) < count {
		return nil, problem("function ipset: there are fewer indexes than addresses")
	}
	return c.env.run.addressesAt(c.name, ranges, indexes[:count])
}

// ranges parses the first argument: a range or a list of ranges.
func (c *invocation) ranges() ([]addresses, error) {
	texts := newList(c.args[:1])
	if l, ok := c.args[0].(*list); ok {
		texts = l
	}
	return c.env.run.ranges(c.name, texts)
}

// ranges parses ranges, each of them an address, a network, or two addresses separated by a dash.
func (r *run) ranges(function string, texts *list) ([]addresses, error) {
	var all []addresses
	for _, c := range texts.cells {
		if err := r.meter.Step(costOfFunction); err != nil {
			return nil, err
		}
		text, ok := c.value.(string)
		if !ok {
			return nil, problem("function %s: a range of addresses must be a string, not a value of type %s", function, typeOf(c.value))
		}
		found, ok := rangeOf(text)
		if !ok {
			return nil, problem(
				"function %s: a range is an address, a network, or two addresses with a dash between them, the lesser one first",
				function,
			)
		}
		all = append(all, found)
	}
	return all, nil
}

// rangeOf parses one range.
func rangeOf(text string) (addresses, bool) {
	if network, err := netip.ParsePrefix(text); err == nil {
		return between(network.Masked().Addr(), lastAddress(network)), true
	}
	parts := strings.Split(text, "-")
	first, err := netip.ParseAddr(strings.TrimSpace(parts[0]))
	if err != nil || first.Zone() != "" {
		return addresses{}, false
	}
	if len(parts) == 1 {
		return addresses{first.Unmap(), 1}, true
	}
	last, err := netip.ParseAddr(strings.TrimSpace(parts[1]))
	first, last = first.Unmap(), last.Unmap()
	if err != nil || last.Zone() != "" || first.BitLen() != last.BitLen() || last.Less(first) {
		return addresses{}, false
	}
	return between(first, last), true
}

// between returns the addresses between two, both included. The count is capped at half the maximum of an int64, so that
// sums of a few do not overflow.
func between(first, last netip.Addr) addresses {
	const most = math.MaxInt64 / 2
	a, b := first.AsSlice(), last.AsSlice()
	count := int64(0)
	for i := range a {
		if count >= most/256 {
			return addresses{first, most}
		}
		count = count*256 + int64(b[i]) - int64(a[i])
	}
	return addresses{first, count + 1}
}

// addressesAt returns the addresses at indexes into consecutive ranges.
func (r *run) addressesAt(function string, ranges []addresses, indexes []int64) (value, error) {
	found := make([]value, len(indexes))
	for i, index := range indexes {
		if err := r.meter.Step(1 + int64(len(ranges))/itemsPerStep); err != nil {
			return nil, err
		}
		for _, part := range ranges {
			if index < part.count {
				found[i] = addOffset(part.first, index).String()
				break
			}
			index -= part.count
		}
		if found[i] == nil {
			return nil, problem("function %s: an index is out of the ranges of addresses", function)
		}
	}
	return newList(found), r.meter.Build(sizeOfCell * int64(len(found)))
}

// indexes returns integers, and the integers in lists.
func (r *run) indexes(function string, values []value) ([]int64, error) {
	var all []int64
	for _, v := range values {
		if err := r.meter.Build(sizeOfValue); err != nil {
			return nil, err
		}
		switch v := v.(type) {
		case nil:
		case int64:
			if v < 0 {
				return nil, problem("function %s: an index must not be negative", function)
			}
			all = append(all, v)
		case *list:
			inner, err := r.indexes(function, v.values())
			if err != nil {
				return nil, err
			}
			all = append(all, inner...)
		default:
			return nil, problem("function %s: the indexes must be integers or lists of them, not a value of type %s", function, typeOf(v))
		}
	}
	return all, nil
}

func (l *list) values() []value {
	values := make([]value, len(l.cells))
	for i, c := range l.cells {
		values[i] = c.value
	}
	return values
}

// formStaticIPs returns addresses of the network that the map around the expression belongs to: as many as there are
// instances, at indexes into the static addresses of the subnets. The names come from BOSH manifests.
func formStaticIPs(e *env, c *call) (outcome, error) {
	args, _, err := e.evalAll(c.positional)
	if err != nil {
		return outcome{}, err
	}
	indexes, err := e.run.indexes("static_ips", args)
	if err != nil {
		return outcome{}, err
	}
	if len(indexes) == 0 {
		return outcome{}, problem("function static_ips needs an index")
	}
	ranges, err := e.staticRanges()
	if err != nil {
		return outcome{}, err
	}
	count, err := e.integer(&reference{c.span, []string{"instances"}})
	if err != nil {
		return outcome{}, err
	}
	all, err := e.run.addressesAt("static_ips", ranges, indexes)
	if err != nil {
		return outcome{}, err
	}
	if count < 0 || count > int64(len(indexes)) {
		return outcome{}, problem("function static_ips: there are fewer addresses than instances")
	}
	return just(&list{cells: all.(*list).cells[:count]}), nil
}

// staticRanges returns the static addresses in the subnets of the network whose name is in the map around the expression.
func (e *env) staticRanges() ([]addresses, error) {
	name, err := e.eval(&reference{path: []string{"name"}})
	if err != nil {
		return nil, err
	}
	network, ok := name.value.(string)
	if !ok {
		return nil, problem("function static_ips: name must be that of a network, not a value of type %s", typeOf(name.value))
	}
	subnets, err := e.listAt("networks", network, "subnets")
	if err != nil {
		return nil, err
	}
	if subnets == nil {
		return nil, problem("function static_ips: the document has no list of subnets for the network of this name")
	}
	var all []addresses
	for _, subnet := range subnets.cells {
		d, ok := subnet.value.(*dict)
		if !ok || d.get("static") == nil {
			return nil, problem("function static_ips: a subnet of the network has no static addresses")
		}
		texts, ok := d.get("static").value.(*list)
		if !ok {
			return nil, problem(
				"function static_ips: the static addresses of a subnet must be a list, not a value of type %s",
				typeOf(d.get("static").value),
			)
		}
		ranges, err := e.run.ranges("static_ips", texts)
		if err != nil {
			return nil, err
		}
		all = append(all, ranges...)
	}
	return all, nil
}

// listAt returns the list at a path from the root, completely evaluated, or nil if there is none. The path may contain
// values, so no error shows it.
func (e *env) listAt(path ...string) (*list, error) {
	c, rest, err := e.begin(append([]string{""}, path...))
	if err != nil || c == nil {
		return nil, err
	}
	reached, _, err := e.walk(c, rest)
	if err != nil || reached == nil {
		return nil, err
	}
	out, err := e.take(reached, false)
	found, _ := out.value.(*list)
	return found, err
}

// automatic is the size of a pool: the number of instances of all jobs that use it. The names come from BOSH manifests.
type automatic struct{ span }

func (a *automatic) eval(e *env, _ bool) (outcome, error) {
	pool, err := e.pool()
	if err != nil {
		return outcome{}, err
	}
	jobs, err := e.listAt("jobs")
	if err != nil {
		return outcome{}, err
	}
	if jobs == nil {
		return outcome{}, problem("auto counts the instances of jobs, but the document has no list of jobs")
	}
	size := int64(0)
	for _, job := range jobs.cells {
		if err := e.run.meter.Step(1); err != nil {
			return outcome{}, err
		}
		if name, err := fieldOf(job, "resource_pool"); err != nil || name != pool {
			continue
		}
		instances := job.value.(*dict).get("instances")
		if instances == nil {
			return outcome{}, problem("auto counts the instances of jobs, but a job of this pool does not have any")
		}
		count, ok := instances.value.(int64)
		if !ok {
			return outcome{}, problem("the instances of a job must be an integer, not a value of type %s", typeOf(instances.value))
		}
		size += count
	}
	return just(size), nil
}

// pool returns the name of the pool whose size the expression computes.
func (e *env) pool() (string, error) {
	steps := e.path.steps()
	if len(steps) != 3 || steps[0] != "resource_pools" || steps[2] != "size" {
		return "", problem("auto is only for the field size of an entry of resource_pools at the root of the document")
	}
	if _, isIndex := indexOf(steps[1]); !isIndex {
		return steps[1], nil
	}
	name, err := lookup(e.nodeScope().names, "name")
	if err != nil || name == nil {
		return "", err
	}
	text, _ := name.value.(string)
	return text, nil
}
