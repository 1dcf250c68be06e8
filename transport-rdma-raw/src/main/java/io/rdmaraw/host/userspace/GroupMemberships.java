package io.rdmaraw.host.userspace;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.SourceFilter;
import io.rdmaraw.wire.GroupMessage;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;

/**
 * The multicast group memberships of a host. They are reported by IGMPv3 (RFC 3376) and MLDv2 (RFC 3810). While a
 * router sends queries of an older version, reports have that version, too. Each member of a group on this host selects
 * sources, and the union of all selections is reported. Never reads the clock; callers pass the current time in
 * nanoseconds.
 */
final class GroupMemberships {
    private static final long NEVER = Long.MAX_VALUE;
    /** RFC 3376 section 8.1, RFC 3810 section 9.1. */
    private static final int ROBUSTNESS = 2;
    /** Unsolicited Report Interval (RFC 3376 section 8.11, RFC 3810 section 9.11). */
    private static final long REPORT_INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** RFC 3376 section 8.12: robustness times the query interval of 125 s, plus the response interval of 10 s. */
    private static final long OLDER_QUERIER_NANOS = TimeUnit.SECONDS.toNanos(260);
    /**
     * Maximum number of queried sources recorded for a group. A query at an MTU of 1,500 bytes has fewer, and routers
     * query only sources that are about to expire.
     */
    private static final int MAX_QUERIED_SOURCES = 512;
    private static final IpAddress ALL_SYSTEMS = IpAddress.parse("224.0.0.1");
    private static final long SCOPE_MASK = 0xff0f_0000_0000_0000L;
    private static final long LINK_SCOPE = 0xff02_0000_0000_0000L;

    private static final class Group {
        private final Map<Object, SourceFilter> members = new HashMap<>();
        private SourceFilter mergedFilter = SourceFilter.NOTHING;
        /** Filter before the pending changes. Each repeated report contains the difference from it. */
        private SourceFilter filterBeforeChanges = SourceFilter.NOTHING;
        private int repetitions;
        private long repetitionDueNanos;
        private long responseDueNanos = NEVER;
        /** The queried sources; empty for all. */
        private final Set<IpAddress> queriedSources = new HashSet<>();
    }

    /** State common to all groups of one IP version. */
    private static final class QuerierState {
        private int robustness = ROBUSTNESS;
        private long responseDueNanos = NEVER;
        private boolean olderVersion;
        private long olderVersionUntilNanos;
    }

    private final GroupReports reports;
    private final UserspaceHostCounters counters;
    private final RandomGenerator random;
    private final Map<IpAddress, Group> groups = new LinkedHashMap<>();
    private final QuerierState igmp = new QuerierState();
    private final QuerierState mld = new QuerierState();

    GroupMemberships(GroupReports reports, UserspaceHostCounters counters, RandomGenerator random) {
        this.reports = reports;
        this.counters = counters;
        this.random = random;
    }

    /** Sets the sources that a member accepts from a group. */
    void set(Object member, IpAddress address, SourceFilter filter, long nowNanos) {
        Group group = groups.computeIfAbsent(address, a -> new Group());
        if (filter.isNothing()) {
            group.members.remove(member);
        } else {
            group.members.put(member, filter);
        }
        SourceFilter mergedFilter = SourceFilter.anyOf(group.members.values());
        if (!mergedFilter.equals(group.mergedFilter)) {
            change(address, group, mergedFilter, nowNanos);
        }
        removeIfFinished(address, group);
    }

    /** Ends all memberships of a member. */
    void leaveAll(Object member, long nowNanos) {
        for (IpAddress address : List.copyOf(groups.keySet())) {
            if (groups.get(address).members.containsKey(member)) {
                set(member, address, SourceFilter.NOTHING, nowNanos);
            }
        }
    }

    /** Returns the groups with at least one accepted source. */
    List<IpAddress> groups() {
        List<IpAddress> accepted = new ArrayList<>();
        groups.forEach((address, group) -> {
            if (!group.mergedFilter.isNothing()) {
                accepted.add(address);
            }
        });
        return accepted;
    }

    private QuerierState querier(boolean ipv4) {
        return ipv4 ? igmp : mld;
    }

    /**
     * Returns whether a group is reported. The all-systems group and groups within the host are not (RFC 3376 section
     * 5, RFC 3810 section 6).
     */
    private static boolean isReported(IpAddress group) {
        return group.isIpv4() ? !group.equals(ALL_SYSTEMS)
                : Long.compareUnsigned(group.high() & SCOPE_MASK, LINK_SCOPE) >= 0
                && !(group.high() == LINK_SCOPE && group.low() == 1);
    }

    private void change(IpAddress address, Group group, SourceFilter mergedFilter, long nowNanos) {
        SourceFilter previous = group.mergedFilter;
        group.mergedFilter = mergedFilter;
        if (!isReported(address)) {
            return;
        }
        if (group.repetitions == 0 || group.filterBeforeChanges.equals(mergedFilter)) {
            group.filterBeforeChanges = previous;
        }
        reportChange(address, previous, mergedFilter, nowNanos);
        group.repetitions = querier(address.isIpv4()).robustness - 1;
        group.repetitionDueNanos = nowNanos + random.nextLong(REPORT_INTERVAL_NANOS);
    }

    /** Reports a change of the filter (RFC 3376 section 5.1). */
    private void reportChange(IpAddress address, SourceFilter previous, SourceFilter mergedFilter, long nowNanos) {
        if (usesOlderVersion(address.isIpv4(), nowNanos)) {
            if (!mergedFilter.isNothing() && previous.isNothing()) {
                countReport();
                reports.sendOlderReport(address);
            } else if (mergedFilter.isNothing()) {
                countReport();
                reports.sendOlderLeave(address);
            }
            return;
        }
        List<GroupReports.Entry> entries = new ArrayList<>();
        if (previous.exclude() != mergedFilter.exclude()) {
            entries.add(new GroupReports.Entry(address, mergedFilter.exclude() ? GroupMessage.CHANGE_TO_EXCLUDE
                    : GroupMessage.CHANGE_TO_INCLUDE, mergedFilter.sources()));
        } else {
            add(entries, address, mergedFilter.exclude() ? GroupMessage.BLOCK_OLD_SOURCES
                    : GroupMessage.ALLOW_NEW_SOURCES, mergedFilter.without(previous.sources()));
            add(entries, address, mergedFilter.exclude() ? GroupMessage.ALLOW_NEW_SOURCES
                    : GroupMessage.BLOCK_OLD_SOURCES, previous.without(mergedFilter.sources()));
        }
        send(entries, address.isIpv4());
    }

    private static void add(List<GroupReports.Entry> entries, IpAddress group, int type, Set<IpAddress> sources) {
        if (!sources.isEmpty()) {
            entries.add(new GroupReports.Entry(group, type, sources));
        }
    }

    private void send(List<GroupReports.Entry> entries, boolean ipv4) {
        if (!entries.isEmpty()) {
            countReport();
            reports.send(entries, ipv4);
        }
    }

    private void countReport() {
        counters.groupReports++;
    }

    private boolean usesOlderVersion(boolean ipv4, long nowNanos) {
        QuerierState querier = querier(ipv4);
        querier.olderVersion &= nowNanos - querier.olderVersionUntilNanos < 0;
        return querier.olderVersion;
    }

    /** Schedules the response to a query (RFC 3376 section 5.2, RFC 3810 section 6.2). */
    void onQuery(GroupQuery query, long nowNanos) {
        counters.groupQueries++;
        QuerierState querier = querier(query.ipv4());
        if (query.isNewestVersion()) {
            querier.robustness = query.robustness() == 0 ? ROBUSTNESS : query.robustness();
        } else {
            querier.olderVersion = true;
            querier.olderVersionUntilNanos = nowNanos + OLDER_QUERIER_NANOS;
        }
        long responseDueNanos = nowNanos + random.nextLong(
                Math.max(1, TimeUnit.MILLISECONDS.toNanos(query.maxResponseMillis())));
        if (querier.responseDueNanos != NEVER && querier.responseDueNanos - responseDueNanos <= 0) {
            // A response to a general query is due earlier and includes this one.
            return;
        }
        if (query.isGeneral()) {
            querier.responseDueNanos = responseDueNanos;
            return;
        }
        Group group = groups.get(query.group());
        if (group == null || group.mergedFilter.isNothing() || !isReported(query.group())) {
            return;
        }
        boolean pending = group.responseDueNanos != NEVER;
        if (query.sources().isEmpty() || pending && group.queriedSources.isEmpty()) {
            group.queriedSources.clear();
        } else {
            group.queriedSources.addAll(query.sources());
            if (group.queriedSources.size() > MAX_QUERIED_SOURCES) {
                // RFC 3376 section 5.2, RFC 3810 section 6.2: if there is no room to record the sources, respond for
                // the whole group.
                group.queriedSources.clear();
            }
        }
        group.responseDueNanos = pending ? Math.min(group.responseDueNanos, responseDueNanos) : responseDueNanos;
    }

    /** Returns the number of queried sources for which responses are pending. */
    int queriedSourceCount() {
        return groups.values().stream().mapToInt(group -> group.queriedSources.size()).sum();
    }

    /** Sends the responses and reports that are due. */
    void poll(long nowNanos) {
        for (boolean ipv4 : new boolean[] {true, false}) {
            QuerierState querier = querier(ipv4);
            if (querier.responseDueNanos != NEVER && nowNanos - querier.responseDueNanos >= 0) {
                querier.responseDueNanos = NEVER;
                respondToGeneralQuery(ipv4, nowNanos);
            }
        }
        for (Iterator<Map.Entry<IpAddress, Group>> all = groups.entrySet().iterator(); all.hasNext();) {
            Map.Entry<IpAddress, Group> item = all.next();
            Group group = item.getValue();
            if (group.responseDueNanos != NEVER && nowNanos - group.responseDueNanos >= 0) {
                group.responseDueNanos = NEVER;
                respondToGroupQuery(item.getKey(), group, nowNanos);
            }
            if (group.repetitions > 0 && nowNanos - group.repetitionDueNanos >= 0) {
                group.repetitions--;
                group.repetitionDueNanos = nowNanos + random.nextLong(REPORT_INTERVAL_NANOS);
                reportChange(item.getKey(), group.filterBeforeChanges, group.mergedFilter, nowNanos);
            }
            if (isFinished(group)) {
                all.remove();
            }
        }
    }

    private static boolean isFinished(Group group) {
        return group.members.isEmpty() && group.repetitions == 0;
    }

    private void removeIfFinished(IpAddress address, Group group) {
        if (isFinished(group)) {
            groups.remove(address);
        }
    }

    private void respondToGeneralQuery(boolean ipv4, long nowNanos) {
        List<GroupReports.Entry> entries = new ArrayList<>();
        groups.forEach((address, group) -> {
            if (address.isIpv4() == ipv4 && !group.mergedFilter.isNothing() && isReported(address)) {
                group.responseDueNanos = NEVER;
                if (usesOlderVersion(ipv4, nowNanos)) {
                    countReport();
                    reports.sendOlderReport(address);
                } else {
                    entries.add(state(address, group.mergedFilter));
                }
            }
        });
        send(entries, ipv4);
    }

    private static GroupReports.Entry state(IpAddress address, SourceFilter mergedFilter) {
        return new GroupReports.Entry(address,
                mergedFilter.exclude() ? GroupMessage.MODE_IS_EXCLUDE : GroupMessage.MODE_IS_INCLUDE,
                mergedFilter.sources());
    }

    private void respondToGroupQuery(IpAddress address, Group group, long nowNanos) {
        Set<IpAddress> queriedSources = new LinkedHashSet<>(group.queriedSources);
        group.queriedSources.clear();
        if (group.mergedFilter.isNothing()) {
            return;
        }
        if (usesOlderVersion(address.isIpv4(), nowNanos)) {
            countReport();
            reports.sendOlderReport(address);
        } else if (queriedSources.isEmpty()) {
            send(List.of(state(address, group.mergedFilter)), address.isIpv4());
        } else {
            // Report only the queried sources that are accepted.
            queriedSources.removeIf(source ->
                    group.mergedFilter.sources().contains(source) == group.mergedFilter.exclude());
            List<GroupReports.Entry> entries = new ArrayList<>();
            add(entries, address, GroupMessage.MODE_IS_INCLUDE, queriedSources);
            send(entries, address.isIpv4());
        }
    }

    /** Returns when {@link #poll} must be called next, or Long.MAX_VALUE. */
    long deadlineNanos() {
        long next = Math.min(igmp.responseDueNanos, mld.responseDueNanos);
        for (Group group : groups.values()) {
            next = Math.min(next, group.responseDueNanos);
            next = group.repetitions > 0 ? Math.min(next, group.repetitionDueNanos) : next;
        }
        return next;
    }
}
