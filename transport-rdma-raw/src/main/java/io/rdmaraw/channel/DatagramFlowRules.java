package io.rdmaraw.channel;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.device.FrameReceiver;
import io.rdmaraw.ffi.Errno;
import io.rdmaraw.host.DatagramNetwork;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.flow.FlowSpec;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/**
 * The rules by which a bound datagram channel's datagrams come to its loop's queue. They follow the channel's peer and
 * groups, and the MAC and IP addresses of its host. For the loop's thread.
 */
final class DatagramFlowRules {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(DatagramFlowRules.class);

    /** By rules of the channel's own, and by those it shares with channels on other loops. */
    private record Rules(List<FlowSpec> own, List<FlowSpec> rss) {
    }

    private final DatagramNetwork network;
    private final DatagramMemberships memberships;
    private final DatagramReceiver receiver;
    private final RdmaRawDatagramStatistics statistics;
    private final Supplier<FrameReceiver> newSide;
    private DeviceQueue port;
    /** The channel at its queue; replaced whenever the rules change, so that new ones are there before old ones go. */
    private FrameReceiver side;
    private Rules steeredBy;
    private boolean waitingForRoom;

    /** @param newSide makes what stands for the channel at its queue */
    DatagramFlowRules(DatagramNetwork network, DatagramMemberships memberships, DatagramReceiver receiver,
                     RdmaRawDatagramStatistics statistics, Supplier<FrameReceiver> newSide) {
        this.network = network;
        this.memberships = memberships;
        this.receiver = receiver;
        this.statistics = statistics;
        this.newSide = newSide;
    }

    /** Steers to this queue from now on. */
    void join(DeviceQueue queue) {
        port = queue;
        steer();
    }

    /** Steers no more; nothing happens when it did not. */
    void leave() {
        if (port != null && side != null) {
            port.detach(side);
        }
        port = null;
        side = null;
        waitingForRoom = false;
    }

    private Rules rules() {
        List<FlowSpec> own = new ArrayList<>(network.flows());
        for (IpAddress group : memberships.groups()) {
            own.addAll(network.groupFlows(new InetSocketAddress(group.toInetAddress(), receiver.localPort())));
        }
        return new Rules(own, network.rssFlows());
    }

    /** The host's MAC or IP addresses are others now. */
    void hostChanged() {
        if (side == null || steeredBy.equals(rules())) {
            return;
        }
        try {
            steer();
        } catch (VerbsException e) {
            LOGGER.warn("{}: {} is still steered by addresses that the host no longer has", network.deviceName(),
                    receiver.local(), e);
        }
    }

    /** Puts the rules that the channel needs now in the place of those that it has. */
    void steer() {
        Rules rules = rules();
        FrameReceiver before = side;
        FrameReceiver after = newSide.get();
        try {
            port.attach(after, rules.own(), rules.rss());
            statistics.coarselySteered = false;
        } catch (VerbsException e) {
            if (!isTableFull(e)) {
                throw e;
            }
            steerCoarsely(after, e);
        }
        side = after;
        steeredBy = rules;
        if (before != null) {
            port.detach(before);
        }
        if (waitingForRoom) {
            port.awaitRoom(after);
        }
    }

    private static boolean isTableFull(VerbsException e) {
        return e.errno() == Errno.ENOMEM || e.errno() == Errno.ENOSPC;
    }

    /** The device has no room for exact rules: more comes than is meant, or comes by the kernel, and is sorted out. */
    private void steerCoarsely(FrameReceiver coarse, VerbsException cause) {
        LOGGER.warn("{}: {} is steered coarsely, the device has no room for its rules: {}", network.deviceName(),
                receiver.local(), cause.getMessage());
        statistics.coarselySteered = true;
        try {
            port.attach(coarse, network.coarseFlows());
        } catch (VerbsException e) {
            if (!network.isKernelServed()) {
                throw e;
            }
            port.attach(coarse, List.of());
        }
    }

    /** Asks once for a call of {@link FrameReceiver#sendQueueHasRoom()}. */
    void awaitRoom() {
        if (!waitingForRoom) {
            waitingForRoom = true;
            port.awaitRoom(side);
        }
    }

    /** The call has come. */
    void roomCame() {
        waitingForRoom = false;
    }
}
