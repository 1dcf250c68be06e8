package io.rdmaraw.udp;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.device.FrameReceiver;
import io.rdmaraw.host.DatagramNetwork;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.flow.FlowSpec;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/**
 * The flow rules that steer the datagrams of a bound channel to its loop's queue. They follow the channel's peer and
 * groups and the MAC and IP addresses of its host. Used on the loop's thread only.
 */
final class DatagramFlowRules {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(DatagramFlowRules.class);

    /** Flow rules: the channel's own ones, and the ones shared with channels on other loops. */
    private record Rules(List<FlowSpec> own, List<FlowSpec> rss) {
    }

    private final DatagramNetwork network;
    private final DatagramMemberships memberships;
    private final DatagramReceiver receiver;
    private final DatagramCounters counters;
    private final Supplier<FrameReceiver> newFrameReceiver;
    private DeviceQueue deviceQueue;
    /**
     * Receiver of the current rules. Replaced when rules change, so that the new rules are active before the old ones
     * are removed.
     */
    private FrameReceiver frameReceiver;
    private Rules installedRules;
    private boolean waitingForRoom;

    /**
     * Creates the rules of a channel. No rule is active yet.
     *
     * @param newFrameReceiver creates the receiver for a set of rules
     */
    DatagramFlowRules(DatagramNetwork network, DatagramMemberships memberships, DatagramReceiver receiver,
                     DatagramCounters counters, Supplier<FrameReceiver> newFrameReceiver) {
        this.network = network;
        this.memberships = memberships;
        this.receiver = receiver;
        this.counters = counters;
        this.newFrameReceiver = newFrameReceiver;
    }

    /** Installs rules that steer the channel's datagrams to a queue. */
    void installOn(DeviceQueue queue) {
        deviceQueue = queue;
        steer();
    }

    /** Removes all rules. Has no effect if there are none. */
    void removeAll() {
        if (deviceQueue != null && frameReceiver != null) {
            deviceQueue.detach(frameReceiver);
        }
        deviceQueue = null;
        frameReceiver = null;
        waitingForRoom = false;
    }

    private Rules rules() {
        List<FlowSpec> own = new ArrayList<>(network.flows());
        for (IpAddress group : memberships.groups()) {
            own.addAll(network.groupFlows(new InetSocketAddress(group.toInetAddress(), receiver.localPort())));
        }
        return new Rules(own, network.rssFlows());
    }

    /** Updates the rules after a MAC or IP address of the host has changed. */
    void hostChanged() {
        if (frameReceiver == null || installedRules.equals(rules())) {
            return;
        }
        try {
            steer();
        } catch (VerbsException e) {
            LOGGER.warn("{}: cannot update the flow rules of {}; those of previous addresses remain",
                    network.deviceName(), receiver.localSocketAddress(), e);
        }
    }

    /** Replaces the active rules with the rules that the channel needs now. */
    void steer() {
        if (deviceQueue == null) {
            return;
        }
        Rules rules = rules();
        FrameReceiver before = frameReceiver;
        FrameReceiver after = newFrameReceiver.get();
        try {
            deviceQueue.attach(after, rules.own(), rules.rss());
            counters.coarselySteered = false;
        } catch (VerbsException e) {
            if (!DeviceQueue.isTableFull(e)) {
                throw e;
            }
            steerCoarsely(after, e);
        }
        frameReceiver = after;
        installedRules = rules;
        if (before != null) {
            deviceQueue.detach(before);
        }
        if (waitingForRoom) {
            deviceQueue.notifyWhenRoom(after);
        }
    }

    /**
     * Installs broader rules, because the device has no room for exact ones. If these do not fit either, the kernel
     * receives the datagrams. The receiver drops datagrams for other channels.
     */
    private void steerCoarsely(FrameReceiver coarse, VerbsException cause) {
        LOGGER.warn("{}: {} uses broader flow rules, because the device has no room for exact ones: {}",
                network.deviceName(), receiver.localSocketAddress(), cause.getMessage());
        counters.coarselySteered = true;
        try {
            deviceQueue.attach(coarse, network.coarseFlows());
        } catch (VerbsException e) {
            if (!network.hasFallbackReceiver()) {
                throw e;
            }
            deviceQueue.attach(coarse, List.of());
        }
    }

    /** Requests a call of {@link FrameReceiver#onSendRoom()}. Has no effect while a request is pending. */
    void notifyWhenRoom() {
        if (!waitingForRoom) {
            waitingForRoom = true;
            deviceQueue.notifyWhenRoom(frameReceiver);
        }
    }

    /** Marks the request as done. */
    void onSendRoom() {
        waitingForRoom = false;
    }
}
