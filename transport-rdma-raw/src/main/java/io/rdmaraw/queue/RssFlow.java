package io.rdmaraw.queue;

import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.objects.Flow;

import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** A flow rule that distributes its frames over the queues of several loops. Guarded by {@link RssFlows}. */
public final class RssFlow {
    private final FlowSpec spec;
    private final int tag;
    private Object ownerOrNull;
    /** The queues of the rule, in the order in which they were added. */
    private List<FrameQueue> queues = List.of();
    /** The queues that their loops have attached. Each of them must also be detached. */
    private final Set<FrameQueue> attachedQueues = new HashSet<>();
    private Flow flow;
    /** The RSS queue pair, or null if all frames go to one queue. */
    private RssQueuePair queuePair;
    private int changeCount;
    private boolean withdrawn;

    RssFlow(FlowSpec spec, int tag, Object ownerOrNull) {
        this.spec = spec;
        this.tag = tag;
        this.ownerOrNull = ownerOrNull;
    }

    /** Returns the rule as requested by the queues. */
    public FlowSpec spec() {
        return spec;
    }

    /** Returns the flow tag of the frames, which is the same at all queues. */
    public int tag() {
        return tag;
    }

    /** Returns the owner that opened the rule for several queues at once, or null. */
    public Object ownerOrNull() {
        return ownerOrNull;
    }

    void removeOwner() {
        ownerOrNull = null;
    }

    List<FrameQueue> queues() {
        return queues;
    }

    RssQueuePair queuePair() {
        return queuePair;
    }

    /** Returns whether the rule was withdrawn from the device. Its queues must still be detached. */
    public boolean isWithdrawn() {
        return withdrawn;
    }

    /** Returns whether the device currently has the rule. It may have refused a replacement. */
    boolean isInstalled() {
        return flow != null;
    }

    void markWithdrawn() {
        withdrawn = true;
    }

    void setQueues(List<FrameQueue> newQueues) {
        queues = List.copyOf(newQueues);
        attachedQueues.retainAll(queues);
    }

    void recordAttached(FrameQueue queue) {
        attachedQueues.add(queue);
    }

    /** Returns the queues that their loops have attached and must also detach. */
    List<FrameQueue> attachedQueues() {
        return queues.stream().filter(attachedQueues::contains).toList();
    }

    /**
     * Returns the rule to install next. Devices reject a duplicate of an existing rule, and removing the old
     * rule first would let frames go to the kernel in between. So both exist for a moment, at two priorities
     * that alternate.
     */
    FlowSpec nextRule() {
        return spec.toBuilder().priority(spec.priority() + (changeCount & 1)).tag(tag).build();
    }

    /** Replaces the installed rule and returns the previous RSS queue pair, or null. */
    RssQueuePair replace(Flow newFlow, RssQueuePair newQueuePair) {
        RssQueuePair previous = queuePair;
        if (flow != null) {
            flow.close();
        }
        flow = newFlow;
        queuePair = newQueuePair;
        changeCount++;
        return previous;
    }
}
