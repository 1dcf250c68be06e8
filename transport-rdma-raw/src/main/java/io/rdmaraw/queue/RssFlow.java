package io.rdmaraw.queue;

import io.rdmaraw.verbs.Flow;
import io.rdmaraw.verbs.flow.FlowSpec;

import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** A rule whose frames are spread over the queues of several loops; see {@link RssFlows}, which guards it. */
public final class RssFlow {
    private final FlowSpec spec;
    private final int tag;
    private final Object ownerOrNull;
    /** In the order they came. */
    private List<FrameQueue> members = List.of();
    /** Those of them that know of the rule. */
    private final Set<FrameQueue> joined = new HashSet<>();
    private Flow flow;
    /** Null when all frames go to one queue. */
    private RssQueuePair path;
    private int changes;
    private boolean withdrawn;

    RssFlow(FlowSpec spec, int tag, Object ownerOrNull) {
        this.spec = spec;
        this.tag = tag;
        this.ownerOrNull = ownerOrNull;
    }

    /** Returns the rule that the members asked for. */
    public FlowSpec spec() {
        return spec;
    }

    /** Returns the tag that frames carry at whichever queue they arrive. */
    public int tag() {
        return tag;
    }

    /** Returns who opened it for several queues at once, or null. */
    public Object ownerOrNull() {
        return ownerOrNull;
    }

    List<FrameQueue> members() {
        return members;
    }

    RssQueuePair path() {
        return path;
    }

    /** Tells whether the rule is out of force, and its members only have to leave. */
    public boolean isWithdrawn() {
        return withdrawn;
    }

    /** Tells whether the device has the rule: it may have refused to replace it. */
    boolean isInForce() {
        return flow != null;
    }

    void markWithdrawn() {
        withdrawn = true;
    }

    void setMembers(List<FrameQueue> newMembers) {
        members = List.copyOf(newMembers);
        joined.retainAll(members);
    }

    void noteJoined(FrameQueue member) {
        joined.add(member);
    }

    /** Returns the members that know of the rule, and will leave it. */
    List<FrameQueue> joined() {
        return members.stream().filter(joined::contains).toList();
    }

    /**
     * Returns the rule that comes into force next. Devices refuse a rule that is there already, and between taking one
     * away and making the next frames would go to the kernel; so new and old are in force together for a moment, at
     * priorities that take turns.
     */
    FlowSpec nextRule() {
        return spec.toBuilder().priority(spec.priority() + (changes & 1)).tag(tag).build();
    }

    /** The rule is this one from now on; returns the path of the one before, or null. */
    RssQueuePair replace(Flow newFlow, RssQueuePair newPath) {
        RssQueuePair before = path;
        if (flow != null) {
            flow.close();
        }
        flow = newFlow;
        path = newPath;
        changes++;
        return before;
    }
}
