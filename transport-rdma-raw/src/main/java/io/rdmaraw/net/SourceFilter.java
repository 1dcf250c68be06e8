package io.rdmaraw.net;

import java.util.Collection;
import java.util.HashSet;
import java.util.Set;

/**
 * Which sources of a group are wanted (RFC 3376 section 3, RFC 3810 section 4): those that are listed, or all others.
 *
 * @param exclude true for all sources but those listed
 * @param sources the list
 */
public record SourceFilter(boolean exclude, Set<IpAddress> sources) {
    /** No source at all: the group is not joined. */
    public static final SourceFilter NOTHING = new SourceFilter(false, Set.of());
    /** Whatever comes. */
    public static final SourceFilter EVERYTHING = new SourceFilter(true, Set.of());

    /** Keeps a copy of the list. */
    public SourceFilter {
        sources = Set.copyOf(sources);
    }

    /** Returns whether no source is wanted. */
    public boolean isNothing() {
        return !exclude && sources.isEmpty();
    }

    /** Returns what is wanted by one or more of several (RFC 3376 section 3.2). */
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

    /** Returns the sources that are listed here and not there. */
    public Set<IpAddress> without(Set<IpAddress> others) {
        Set<IpAddress> rest = new HashSet<>(sources);
        rest.removeAll(others);
        return rest;
    }
}
