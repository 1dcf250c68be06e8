package io.rdmaraw.testsuite.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.Offloads;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Tests the first steps of a user: a server in a network namespace, as in a container, and curl at the other end
 * of its veth pair, without any configuration. {@code -Drdmaraw.stockBytes=100000000} transfers larger files.
 */
@Timeout(600)
@WithTestNetwork
@ExtendWith(LeakExtension.class)
class StockClientsOverVethTest {
    private static final long BYTES = Long.getLong("rdmaraw.stockBytes", 20_000_000);
    private static final Duration LIMIT = Duration.ofMinutes(5);

    private final BulkContent down = new BulkContent(1);
    private final BulkContent up = new BulkContent(2);
    private EventLoopGroup group;
    private String device;
    private NetworkNamespace clients;
    private String site;

    @AfterEach
    void shutDown() {
        SoftDevice.restore();
        if (group != null) {
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    private void serve(TestNetwork network, SoftDevice kind, int version, Offloads offloads) throws Exception {
        VethPair pair = network.withoutCapture().offloads(offloads).vethPair(network.namespace(), network.namespace());
        clients = pair.peer().namespace();
        assumeTrue(clients.attempt("curl", "--version").exitCode() == 0, "needs curl: apt-get install curl");
        // Every interface of a container has a link-local address. The kernel sends neighbour solicitations from
        // it.
        pair.ours().namespace().run("ip", "-6", "addr", "add", "fe80::1/64", "dev", pair.ours().name(), "nodad");
        device = kind.on(pair.ours().name());
        group = new RdmaRawEventLoopGroup(1, pair.ours().namespace().threadFactory(),
                RdmaRawIoHandlerConfig.builder().device(device).build());
        String address = version == 4 ? pair.ours().ipv4() : pair.ours().ipv6();
        Channel server = TcpHost.listen(group, group, TcpHost.address(address, 0), new ContentSite(down));
        int port = ((InetSocketAddress) server.localAddress()).getPort();
        site = "http://" + (version == 4 ? address : '[' + address + ']') + ':' + port;
    }

    @ParameterizedTest
    @CsvSource({"PACKET,4,AS_MADE", "PACKET,6,AS_MADE", "PACKET,4,OFF",
        "XDP_GENERIC,4,AS_MADE", "XDP_GENERIC,6,AS_MADE", "XDP_GENERIC,4,OFF",
        "XDP_NATIVE,4,AS_MADE", "XDP_NATIVE,6,AS_MADE", "XDP_NATIVE,4,OFF",
        "XDP_TAP,4,AS_MADE", "XDP_TAP,6,AS_MADE", "XDP_TAP,4,OFF"})
    void curlDownloadsAndUploadsFiles(SoftDevice kind, int version, Offloads offloads, TestNetwork network,
            @TempDir Path directory) throws Exception {
        serve(network, kind, version, offloads);
        assertEquals(down.digest(5), got(site + "/5", directory), "the first answer");
        long start = System.nanoTime();
        assertEquals(down.digest(BYTES), got(site + '/' + BYTES, directory), "down");
        long between = System.nanoTime();
        assertEquals(up.digest(BYTES), curl("-T", write(directory).toString(), site + "/up"), "up");
        long end = System.nanoTime();
        System.out.printf("%s, IPv%d, offloads %s: %d bytes down in %d ms, up in %d ms%n", kind, version, offloads,
                BYTES, (between - start) / 1_000_000, (end - between) / 1_000_000);
        assertEquals(0, TcpHost.tcp(device, "bad-checksum"), "segments whose checksum was taken for a wrong one");
        boolean cutByTheKernel = offloads == Offloads.OFF || kind == SoftDevice.XDP_NATIVE;
        assertEquals(!cutByTheKernel, TcpHost.ofDevice(device, "gso-frames.unsegmented") > 0,
                "frames beyond the MTU are received whole");
    }

    private String curl(String... arguments) {
        String[] curl = {"curl", "-sS", "-g", "--max-time", Long.toString(LIMIT.toSeconds())};
        return clients.start(Stream.of(curl, arguments).flatMap(Stream::of).toArray(String[]::new)).await(LIMIT)
                .orThrow().output();
    }

    /** Returns the digest of a page. */
    private String got(String page, Path directory) {
        String file = directory.resolve("got").toString();
        curl("-o", file, page);
        return clients.run("sha256sum", file).output().split(" ")[0];
    }

    private Path write(Path directory) throws IOException {
        Path file = directory.resolve("up");
        byte[] chunk = new byte[1 << 16];
        try (OutputStream out = Files.newOutputStream(file)) {
            for (long at = 0; at < BYTES;) {
                int length = up.write(at, chunk, BYTES - at);
                out.write(chunk, 0, length);
                at += length;
            }
        }
        return file;
    }
}
