package io.rdmaraw.tcp.stack;

import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.net.IpAddress;

/** The port of a connection that was opened here, with a rule of its own on the loop that opened it. */
final class ConnectedPort extends TcpPort {
    /** Null where the stack's own rule brings the connection's segments. */
    private final TcpFrameReceiver steering;
    private final IpAddress peer;
    private final int peerPort;

    /**
     * Steers what comes for the connection.
     *
     * @throws io.rdmaraw.verbs.VerbsException when the device does not take the rule; the port is given back
     */
    ConnectedPort(TcpStack stack, TcpNetwork.Binding binding, IpAddress peer, int peerPort) {
        super(binding);
        this.peer = peer;
        this.peerPort = peerPort;
        steering = binding.flows().isEmpty() ? null : new TcpFrameReceiver(stack);
        if (steering != null) {
            try {
                stack.port().attach(steering, binding.flows());
            } catch (RuntimeException e) {
                binding.close();
                throw e;
            }
        }
    }

    @Override
    boolean isTowards(IpAddress address, int port) {
        return port == peerPort && address.equals(peer);
    }

    @Override
    void withdraw() {
        if (steering != null) {
            steering.stack().port().detach(steering);
        }
    }
}
