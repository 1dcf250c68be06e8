package io.rdmaraw.microbench.tcp;

import io.rdmaraw.microbench.process.JsonPeer;
import io.rdmaraw.microbench.rival.TunedTransport;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.tools.run.JavaCommand;
import java.util.ArrayList;
import java.util.List;

/** Controls a process of {@link TcpPeerCommand}. */
final class TcpPeer extends JsonPeer {
    private TcpPeer(PeerProcess process) {
        super(process);
    }

    /**
     * Starts a process.
     *
     * @param prefix  prefix of the command line, such as {@code taskset -c 1}
     * @param options options of {@link TcpPeerCommand}
     */
    static TcpPeer start(NetworkNamespace namespace, List<String> prefix, TunedTransport transport,
            String... options) {
        List<String> command = new ArrayList<>(prefix);
        command.addAll(JavaCommand.of("io.rdmaraw.microbench.Main"));
        command.addAll(List.of("bench", "tcp-peer"));
        command.addAll(transport.options());
        command.addAll(List.of(options));
        return new TcpPeer(namespace.start(command.toArray(String[]::new)));
    }
}
