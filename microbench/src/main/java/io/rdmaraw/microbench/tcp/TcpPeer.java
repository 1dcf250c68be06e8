package io.rdmaraw.microbench.tcp;

import io.rdmaraw.examples.server.Transport;
import io.rdmaraw.microbench.process.JsonPeer;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.tools.run.JavaCommand;
import java.util.ArrayList;
import java.util.List;

/** A process that runs {@link TcpPeerCommand}, as seen by the bench. */
final class TcpPeer extends JsonPeer {
    private TcpPeer(PeerProcess process) {
        super(process);
    }

    /**
     * Starts a process.
     *
     * @param prefix  what its command begins with, such as {@code taskset -c 1}
     * @param options of {@link TcpPeerCommand}
     */
    static TcpPeer start(NetworkNamespace namespace, List<String> prefix, Transport transport, String... options) {
        List<String> command = new ArrayList<>(prefix);
        command.addAll(JavaCommand.of("io.rdmaraw.microbench.Main"));
        command.addAll(List.of("bench", "tcp-peer", "--transport", transport.name()));
        command.addAll(List.of(options));
        return new TcpPeer(namespace.start(command.toArray(String[]::new)));
    }
}
