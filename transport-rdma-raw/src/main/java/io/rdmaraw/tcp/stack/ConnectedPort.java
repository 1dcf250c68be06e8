package io.rdmaraw.tcp.stack;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.tcp.stack.port.TcpPort;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.flow.FlowSpec;

import java.util.List;

/**
 * The port of a connection that this host opened. Its flow rules lead to the loop that opened the connection, and they
 * follow the MAC address of the link.
 */
final class ConnectedPort extends TcpPort {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(ConnectedPort.class);

    private final TcpStack stack;
    private final IpAddress peer;
    private final int peerPort;
    private final Runnable onHostChange = this::applyHostChange;
    /** The installed flow rules; empty if the stack's own rule covers the connection. */
    private List<FlowSpec> rules;
    /** Receiver of the flow rules; null if there are none. */
    private TcpFrameReceiver frameReceiver;

    /**
     * Installs the flow rules of the connection.
     *
     * @throws VerbsException if the device rejects a rule. The port is released then.
     */
    ConnectedPort(TcpStack stack, TcpNetwork.Binding binding, IpAddress peer, int peerPort) {
        super(binding);
        this.stack = stack;
        this.peer = peer;
        this.peerPort = peerPort;
        rules = binding.flows();
        if (!rules.isEmpty()) {
            try {
                frameReceiver = attachReceiver(rules);
            } catch (RuntimeException e) {
                binding.close();
                throw e;
            }
            stack.network().addHostChangeListener(onHostChange);
        }
    }

    private TcpFrameReceiver attachReceiver(List<FlowSpec> flows) {
        TcpFrameReceiver receiver = new TcpFrameReceiver(stack);
        stack.deviceQueue().attach(receiver, flows);
        return receiver;
    }

    /**
     * Replaces the rules if the MAC address of the link has changed. The new rules are installed before the old ones
     * are removed, because segments to the old MAC address may still be in transit.
     */
    private void applyHostChange() {
        List<FlowSpec> newRules = binding().flows();
        if (newRules.equals(rules)) {
            return;
        }
        TcpFrameReceiver oldReceiver = frameReceiver;
        try {
            frameReceiver = attachReceiver(newRules);
        } catch (VerbsException e) {
            LOGGER.warn("port {}: segments from {} port {} are no longer received, because the device rejects the rule"
                    + " for the new MAC address: {}", binding().port(), peer, peerPort, e.getMessage());
            return;
        }
        rules = newRules;
        stack.deviceQueue().detach(oldReceiver);
    }

    @Override
    public boolean isForPeer(IpAddress address, int port) {
        return port == peerPort && address.equals(peer);
    }

    @Override
    protected void removeRules() {
        if (frameReceiver != null) {
            stack.network().removeHostChangeListener(onHostChange);
            stack.deviceQueue().detach(frameReceiver);
        }
    }
}
