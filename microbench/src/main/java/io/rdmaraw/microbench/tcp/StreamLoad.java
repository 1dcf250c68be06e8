package io.rdmaraw.microbench.tcp;

import io.rdmaraw.examples.server.Transport;
import io.rdmaraw.microbench.rival.TunedTransport;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.tools.server.ServerNetwork;
import java.nio.file.Path;
import java.util.List;

/** A load of requests and responses over TCP, until it is closed. {@code profile} observes it. */
public final class StreamLoad implements AutoCloseable {
    /** Number of connections, with one outstanding request on each. */
    public static final int CONNECTIONS = 64;
    private static final int PORT = 25_390;
    private static final int CLIENT_CORE = 0;
    private static final int SERVER_CORE = 1;

    private final Runnable closing;
    private final TcpPeer server;
    private final TcpPeer client;

    private StreamLoad(TcpPeer server, TcpPeer client, Runnable closing) {
        this.closing = closing;
        this.server = server;
        this.client = client;
        client.ask("ask " + CONNECTIONS);
    }

    /** Starts a server and a client on the loopback device, on two event loops of one process. */
    public static StreamLoad onLoop() {
        TestNetwork here = new TestNetwork("profile-tcp", Path.of("."));
        TcpPeer both = TcpPeer.start(here.current(), List.of(), TunedTransport.stock(Transport.RDMA_RAW),
                "--serve", "0.0.0.0", "--ask", "127.0.0.1", "--port", Integer.toString(PORT));
        return new StreamLoad(both, both, here::close);
    }

    /** Starts a server on AF_XDP, and a client on epoll at the other end of a veth pair. It needs root privileges. */
    public static StreamLoad onWire() {
        ServerNetwork.require("taskset", "util-linux");
        ServerNetwork network = new ServerNetwork();
        network.receiveOn(SERVER_CORE, CLIENT_CORE);
        TcpPeer server = TcpPeer.start(network.serverSide(), pinnedTo(SERVER_CORE),
                TunedTransport.stock(Transport.RDMA_RAW), "--device", "soft:xdp:" + network.serverInterface(),
                "--serve", network.serverAddress());
        server.ask("counts");
        return new StreamLoad(server, TcpPeer.start(network.clientSide(), pinnedTo(CLIENT_CORE),
                TunedTransport.stock(Transport.EPOLL), "--ask", network.serverAddress()), network::close);
    }

    private static List<String> pinnedTo(int core) {
        return List.of("taskset", "-c", Integer.toString(core));
    }

    /** Returns the ID of the server process. */
    public long pid() {
        return server.pid();
    }

    @Override
    public void close() {
        client.close();
        server.close();
        closing.run();
    }
}
