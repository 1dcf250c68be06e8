package io.rdmaraw.tools.perf;

import io.rdmaraw.ffi.PageMemory;
import io.rdmaraw.tools.command.ToolException;
import io.rdmaraw.verbs.abi.WcStatus;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.objects.CompletionChannel;
import io.rdmaraw.verbs.objects.CompletionQueue;
import io.rdmaraw.verbs.objects.ProtectionDomain;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.QueuePairOptions;
import io.rdmaraw.verbs.objects.RssOptions;
import io.rdmaraw.verbs.objects.RwqIndirectionTable;
import io.rdmaraw.verbs.objects.VerbsContext;
import io.rdmaraw.verbs.objects.VerbsDevices;
import io.rdmaraw.verbs.objects.Wc;
import io.rdmaraw.verbs.objects.WorkQueue;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * One side of a measurement: queue pairs with their memory and flow rules, driven by verbs calls only. The
 * {@code wr_id} of a completion identifies its queue pair, because on mlx5 the queue pair number of a raw receive
 * completion holds a flow tag. Used by one thread.
 */
final class PerfEndpoint implements AutoCloseable {
    private static final int POLL_ENTRIES = 64;
    private static final long SEND_LIMIT_NANOS = 5_000_000_000L;

    /** Receives frames. The memory of a frame is valid until the call returns. */
    interface FrameSink {
        void frame(long address, int lengthBytes);
    }

    private final Deque<AutoCloseable> resources = new ArrayDeque<>();
    /**
     * Flow rules and queues. They are closed before {@link #resources}, because the device uses the memory until then.
     */
    private final Deque<AutoCloseable> queues = new ArrayDeque<>();
    private final PerfQueueOptions options;
    private final VerbsContext context;
    private final ProtectionDomain domain;
    private final CompletionQueue sendCompletionQueue;
    private final CompletionQueue receiveCompletionQueue;
    private final CompletionWait wait;
    /**
     * Separate buffer for send completions: a frame sink may send, and poll for send completions, while the received
     * ones are being processed.
     */
    private final long sendWorkCompletions;
    private final long receiveWorkCompletions;
    private final List<SendLane> senders = new ArrayList<>();
    private final List<ReceiveLane> receivers = new ArrayList<>();
    private final List<QueuePair> ruleTargets = new ArrayList<>();

    private PerfEndpoint(String device, PerfQueueOptions options) {
        this.options = options;
        context = own(VerbsDevices.open(device));
        domain = own(context.allocateProtectionDomain());
        CompletionChannel channel = options.events() ? own(context.createCompletionChannel()) : null;
        sendCompletionQueue = own(context.createCompletionQueue(options.queuePairs() * options.sendDepth(), channel,
                0));
        receiveCompletionQueue = own(context.createCompletionQueue(options.queuePairs() * options.receiveDepth(),
                channel, 0));
        wait = own(new CompletionWait(channel, sendCompletionQueue, receiveCompletionQueue));
        sendWorkCompletions = own(PageMemory.map(2L * POLL_ENTRIES * Wc.SIZE_BYTES)).address();
        receiveWorkCompletions = sendWorkCompletions + (long) POLL_ENTRIES * Wc.SIZE_BYTES;
    }

    /**
     * Opens the queues and starts to receive frames.
     *
     * @param frames    frames to send; their reverse direction determines the flow rules
     * @param receives  whether this side receives; if false, no flow rules are created
     * @param moreRules flow rules in addition to those of the frames
     */
    static PerfEndpoint open(PerfSide side, PerfQueueOptions options, PerfFrames frames, int frameBytes,
            boolean receives, List<FlowSpec> moreRules) {
        PerfEndpoint endpoint = new PerfEndpoint(side.device(), options);
        try {
            int port = side.portOf(endpoint.context);
            endpoint.checkLength(port, frames, frameBytes);
            endpoint.openLanes(port, frames, frameBytes, receives);
            if (receives) {
                endpoint.steer(frames.rules(side.allowHostTraffic()), moreRules);
            }
            return endpoint;
        } catch (RuntimeException e) {
            endpoint.close();
            throw e;
        }
    }

    private <T extends AutoCloseable> T own(T resource) {
        resources.push(resource);
        return resource;
    }

    private <T extends AutoCloseable> T ownQueue(T queue) {
        queues.push(queue);
        return queue;
    }

    private void checkLength(int portNumber, PerfFrames frames, int frameBytes) {
        int vlanBytes = frames.vlanId() > 0 ? 4 : 0;
        int maxBytes = context.mtuBytes(portNumber) + 14 + vlanBytes;
        if (frameBytes > maxBytes || frameBytes < frames.headerBytes()) {
            throw new ToolException("a frame of " + frameBytes + " bytes does not go: the headers take "
                    + frames.headerBytes() + ", and " + context.deviceName() + " sends up to " + maxBytes);
        }
    }

    private void openLanes(int portNumber, PerfFrames frames, int frameBytes, boolean receives) {
        List<byte[]> toSend = frames.build(frameBytes);
        int maxReceiveBytes = context.mtuBytes(portNumber) + 18;
        boolean receiveHere = receives && !options.rss();
        for (int i = 0; i < options.queuePairs(); i++) {
            QueuePair queuePair = ownQueue(domain.createQueuePair(QueuePairOptions.builder()
                    .sendCompletionQueue(sendCompletionQueue).receiveCompletionQueue(receiveCompletionQueue)
                    .maxSendWr(options.sendDepth()).maxReceiveWr(receiveHere ? options.receiveDepth() : 1)
                    .maxInlineDataBytes(options.inlineBytes()).build()));
            senders.add(own(new SendLane(i, queuePair, domain, options, toSend, frames.stampOffset(frameBytes))));
            queuePair.toInit(portNumber);
            if (receiveHere) {
                receivers.add(own(new ReceiveLane(i, queuePair::postReceive, domain, options.receiveDepth(),
                        maxReceiveBytes)));
            }
            if (!receives || receiveHere) {
                ruleTargets.add(queuePair);
            }
            queuePair.toReadyToReceive();
            queuePair.toReadyToSend();
        }
        if (receives && options.rss()) {
            openRss(portNumber, frames, maxReceiveBytes);
        }
    }

    private void openRss(int portNumber, PerfFrames frames, int maxReceiveBytes) {
        WorkQueue[] workQueues = new WorkQueue[options.queuePairs()];
        for (int i = 0; i < workQueues.length; i++) {
            WorkQueue queue = ownQueue(context.createWorkQueue(domain, receiveCompletionQueue, options.receiveDepth(),
                    1, 0));
            queue.toReady();
            receivers.add(own(new ReceiveLane(i, queue::postReceive, domain, options.receiveDepth(),
                    maxReceiveBytes)));
            workQueues[i] = queue;
        }
        RwqIndirectionTable table = ownQueue(context.createIndirectionTable(workQueues));
        long ips = frames.ipVersion() == 6 ? RssOptions.SOURCE_IPV6 | RssOptions.DESTINATION_IPV6
                : RssOptions.SOURCE_IPV4 | RssOptions.DESTINATION_IPV4;
        long ports = !frames.hasPorts() ? 0 : frames.tcp()
                ? RssOptions.SOURCE_PORT_TCP | RssOptions.DESTINATION_PORT_TCP
                : RssOptions.SOURCE_PORT_UDP | RssOptions.DESTINATION_PORT_UDP;
        byte[] key = new byte[RssOptions.KEY_LENGTH_BYTES];
        new java.util.Random(1).nextBytes(key);
        ruleTargets.add(ownQueue(domain.createQueuePair(QueuePairOptions.builder()
                .rss(new RssOptions(table, ips | ports, key, portNumber)).build())));
    }

    private void steer(List<FlowSpec> rules, List<FlowSpec> moreRules) {
        for (int i = 0; i < rules.size(); i++) {
            ownQueue(ruleTargets.get(i % ruleTargets.size()).createFlow(rules.get(i)));
        }
        for (FlowSpec rule : moreRules) {
            ownQueue(ruleTargets.getFirst().createFlow(rule));
        }
    }

    /** Returns the first queue pair to which flow rules are attached. */
    QueuePair ruleTarget() {
        return ruleTargets.getFirst();
    }

    VerbsContext context() {
        return context;
    }

    List<SendLane> senders() {
        return senders;
    }

    /** Sets the rate limit of each queue pair in the device. */
    void limitRate(int kilobitsPerSecond) {
        senders.forEach(lane -> lane.limitRate(kilobitsPerSecond));
    }

    /** Polls send completions and returns their number. */
    int pollSends() {
        int count = sendCompletionQueue.poll(POLL_ENTRIES, sendWorkCompletions);
        for (int i = 0; i < count; i++) {
            long completion = sendWorkCompletions + (long) i * Wc.SIZE_BYTES;
            check(completion, "sending");
            long wrId = Wc.wrId(completion);
            senders.get(SendLane.laneOf(wrId)).complete(wrId);
        }
        return count;
    }

    /** Waits until the device has sent all posted frames. The last post of each queue pair must be signalled. */
    void awaitSends() {
        long start = System.nanoTime();
        for (SendLane lane : senders) {
            while (lane.outstanding() > 0) {
                pollSends();
                wait.busy();
                if (System.nanoTime() - start > SEND_LIMIT_NANOS) {
                    throw new ToolException(context.deviceName() + " has not sent " + lane.outstanding()
                            + " frames for 5 s: is its link up? (./rdma-raw doctor --device " + context.deviceName()
                            + ')');
                }
            }
        }
    }

    /** Polls received frames and returns their number. */
    int pollReceives(FrameSink sink) {
        int count = receiveCompletionQueue.poll(POLL_ENTRIES, receiveWorkCompletions);
        for (int i = 0; i < count; i++) {
            long completion = receiveWorkCompletions + (long) i * Wc.SIZE_BYTES;
            check(completion, "receiving");
            long wrId = Wc.wrId(completion);
            ReceiveLane lane = receivers.get(ReceiveLane.laneOf(wrId));
            sink.frame(lane.frameAddress(wrId), Wc.byteLen(completion));
            lane.release(wrId);
        }
        if (count > 0) {
            for (int i = 0; i < receivers.size(); i++) {
                receivers.get(i).post();
            }
        }
        return count;
    }

    private static void check(long completion, String what) {
        int status = Wc.status(completion);
        if (status != 0) {
            throw new ToolException(what + " failed: the device completed a request with " + WcStatus.name(status)
                    + " (vendor error 0x" + Integer.toHexString(Wc.vendorErr(completion)) + ')');
        }
    }

    /**
     * Waits after a poll without completions: spins, or sleeps until an event if events are enabled.
     *
     * @param maxNanos maximum duration of the wait
     */
    void idle(long maxNanos) {
        wait.idle(maxNanos);
    }

    /** Records that a poll returned completions. */
    void busy() {
        wait.busy();
    }

    @Override
    public void close() {
        close(queues);
        close(resources);
    }

    private static void close(Deque<AutoCloseable> stack) {
        while (!stack.isEmpty()) {
            try {
                stack.pop().close();
            } catch (Exception e) {
                throw new IllegalStateException("could not close a queue", e);
            }
        }
    }
}
