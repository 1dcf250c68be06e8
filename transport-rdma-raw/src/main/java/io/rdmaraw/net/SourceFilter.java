package io.rdmaraw.net;

import java.util.Collection;
import java.util.HashSet;
import java.util.Set;

/**
 * The accepted sources of a multicast group (RFC 3376 section 3, RFC 3810 section 4).
 *
 * @param exclude true to accept all sources except those listed; false to accept only those listed
 * @param sources the listed sources
 */
public record SourceFilter(boolean exclude, Set<IpAddress> sources) {
    /** Accepts no source: the group is not joined. */
    public static final SourceFilter NOTHING = new SourceFilter(false, Set.of());
    /** Accepts all sources. */
    public static final SourceFilter EVERYTHING = new SourceFilter(true, Set.of());

    /** Copies the list. */
    public SourceFilter {
        sources = Set.copyOf(sources);
    }

    /** Returns whether no source is accepted. */
    public boolean isNothing() {
        return !exclude && sources.isEmpty();
    }

    /** Returns a filter that accepts a source if one of the given filters accepts it (RFC 3376 section 3.2). */
    public static SourceFilter anyOf(Collection<SourceFilter> filters) {
        Set<IpAddress> included = new HashSet<>();
        Set<IpAddress> excluded = null;
        for (SourceFilter filter : filters) {
            if (!filter.exclude) {
                included.addAll(filter.sources);
            } else if (excluded == null) {
                excluded = new HashSet<>(filter.sources);
            } else {
                excluded.retainAll(filter.sources);
            }
        }
        if (excluded == null) {
            return new SourceFilter(false, included);
        }
        excluded.removeAll(included);
        return new SourceFilter(true, excluded);
    }

    /** Returns the listed sources that are not in another list. */
    public Set<IpAddress> without(Set<IpAddress> others) {
        Set<IpAddress> rest = new HashSet<>(sources);
        rest.removeAll(others);
        return rest;
    }
}
