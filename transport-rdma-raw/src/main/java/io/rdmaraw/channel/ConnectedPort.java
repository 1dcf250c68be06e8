package io.rdmaraw.channel;

import io.rdmaraw.host.TcpNetwork;

/** The port of a connection that was opened here, with a rule of its own on the loop that opened it. */
final class ConnectedPort extends TcpPort {
    private final TcpSteering steering;

    /**
     * Steers what comes for the connection.
     *
     * @throws io.rdmaraw.verbs.VerbsException when the device does not take the rule; the port is given back
     */
    ConnectedPort(TcpStack stack, TcpNetwork.Binding binding) {
        super(binding);
        steering = new TcpSteering(stack);
        if (!binding.flows().isEmpty()) {
            try {
                stack.port().attach(steering, binding.flows());
            } catch (RuntimeException e) {
                binding.close();
                throw e;
            }
        }
    }

    @Override
    void withdraw() {
        if (!binding().flows().isEmpty()) {
            steering.stack().port().detach(steering);
        }
    }
}
