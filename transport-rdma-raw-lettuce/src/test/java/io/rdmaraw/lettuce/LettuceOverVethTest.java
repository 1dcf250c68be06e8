package io.rdmaraw.lettuce;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import io.rdmaraw.channel.NioChannels;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * Lettuce clients connect to a stock redis-server at the other end of a veth pair. Creating an NIO channel would fail.
 */
@ExtendWith(LeakExtension.class)
@WithTestNetwork
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(180)
class LettuceOverVethTest {
    private static final int PORT = 6379;
    private static final int CLUSTER_PORT = 6380;
    private static final int REQUESTS = 1_000;
    private static final int PATIENCE_SECONDS = 60;

    private NetworkNamespace peer;
    private String theirs;
    private PeerProcess server;
    private RdmaRawEventLoopGroup loops;
    private RdmaRawRedisClient client;

    @BeforeAll
    void start(TestNetwork network) {
        VethPair pair = network.vethPair(network.namespace(), network.namespace());
        peer = pair.peer().namespace();
        theirs = pair.peer().ipv4();
        assumeTrue(peer.attempt("redis-server", "--version").exitCode() == 0, "redis-server is not installed");
        server = startServer(PORT);
        loops = new RdmaRawEventLoopGroup(2, pair.ours().namespace().threadFactory(), RdmaRawIoHandlerConfig.builder()
                .device("soft:xdp:" + pair.ours().name()).nioChannels(NioChannels.REFUSED).build());
        client = RdmaRawRedisClient.create(loops, RedisURI.create(theirs, PORT));
    }

    @AfterAll
    void end() throws InterruptedException {
        if (client != null) {
            client.shutdown(0, PATIENCE_SECONDS, TimeUnit.SECONDS);
        }
        if (loops != null) {
            loops.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).sync();
        }
    }

    private PeerProcess startServer(int port, String... more) {
        List<String> command = new ArrayList<>(List.of("redis-server", "--port", String.valueOf(port), "--bind", theirs,
                "--save", "", "--protected-mode", "no"));
        command.addAll(List.of(more));
        PeerProcess process = peer.start(command.toArray(String[]::new));
        process.awaitOutput("Ready to accept connections", Await.PATIENCE);
        return process;
    }

    @Test
    void manyRequestsAtATime() throws Exception {
        try (StatefulRedisConnection<String, String> connection = client.connect()) {
            RedisAsyncCommands<String, String> commands = connection.async();
            List<RedisFuture<String>> answers = new ArrayList<>();
            for (int i = 0; i < REQUESTS; i++) {
                commands.set("key" + i, "value" + i);
                answers.add(commands.get("key" + i));
            }
            for (int i = 0; i < REQUESTS; i++) {
                assertEquals("value" + i, answers.get(i).get(PATIENCE_SECONDS, TimeUnit.SECONDS));
            }
        }
    }

    @Test
    void longValues() {
        try (StatefulRedisConnection<String, String> connection = client.connect()) {
            for (int bytes = 1 << 20; bytes <= 10 << 20; bytes += 3 << 20) {
                String value = String.valueOf((char) ('a' + (bytes >> 20))).repeat(bytes);
                connection.sync().set("large", value);
                assertEquals(value, connection.sync().get("large"));
            }
        }
    }

    /**
     * The client closes with pending requests. The server is stopped, or has just resumed and sends the first replies.
     * The buffers of unsent requests must be released.
     */
    @Test
    void aConnectionThatEndsHalfWay() throws InterruptedException {
        int port = PORT + 20;
        String value = "x".repeat(1 << 20);
        try (PeerProcess stopped = startServer(port);
                RdmaRawRedisClient other = RdmaRawRedisClient.create(loops, RedisURI.create(theirs, port))) {
            for (int round = 0; round < 3; round++) {
                StatefulRedisConnection<String, String> connection = other.connect();
                connection.sync().set("large", value);
                peer.run("kill", "-STOP", String.valueOf(stopped.pid()));
                List<RedisFuture<String>> pending = new ArrayList<>();
                for (int i = 0; i < 10; i++) {
                    pending.add(connection.async().set("key" + i, value));
                    pending.add(connection.async().get("large"));
                }
                if (round > 0) {
                    peer.run("kill", "-CONT", String.valueOf(stopped.pid()));
                    assertTrue(pending.getFirst().await(PATIENCE_SECONDS, TimeUnit.SECONDS));
                }
                connection.close();
                peer.run("kill", "-CONT", String.valueOf(stopped.pid()));
            }
        }
    }

    @Test
    void subscriptions() throws Exception {
        BlockingQueue<String> messages = new LinkedBlockingQueue<>();
        try (StatefulRedisPubSubConnection<String, String> subscriber = client.connectPubSub();
                StatefulRedisConnection<String, String> publisher = client.connect()) {
            subscriber.addListener(new RedisPubSubAdapter<>() {
                @Override
                public void message(String channel, String message) {
                    messages.add(channel + ": " + message);
                }
            });
            subscriber.sync().subscribe("news");
            assertEquals(1, publisher.sync().publish("news", "hello"));
            assertEquals("news: hello", messages.poll(PATIENCE_SECONDS, TimeUnit.SECONDS));
        }
    }

    /** After a restart of the server, Lettuce reconnects with the same bootstrap. */
    @Test
    void aServerThatComesBackIsConnectedAgain() {
        int port = PORT + 10;
        PeerProcess first = startServer(port);
        try (RdmaRawRedisClient other = RdmaRawRedisClient.create(loops, RedisURI.create(theirs, port));
                StatefulRedisConnection<String, String> connection = other.connect()) {
            assertEquals("PONG", connection.sync().ping());
            first.close();
            Await.until("the connection's end", () -> !connection.isOpen());
            try (PeerProcess _ = startServer(port)) {
                Await.until("the new connection", connection::isOpen);
                assertEquals("PONG", connection.sync().ping());
            }
        }
    }

    @Test
    void aCluster(@TempDir Path directory) {
        try (PeerProcess node = startServer(CLUSTER_PORT, "--cluster-enabled", "yes", "--dir",
                directory.toString())) {
            peer.run("redis-cli", "-h", theirs, "-p", String.valueOf(CLUSTER_PORT), "cluster", "addslotsrange", "0",
                    "16383");
            // The node reports the state shortly after it has all slots.
            Await.until("the cluster", () -> peer.attempt("redis-cli", "-h", theirs, "-p", String.valueOf(CLUSTER_PORT),
                    "cluster", "info").output().contains("cluster_state:ok"));
            try (RdmaRawRedisClusterClient cluster = RdmaRawRedisClusterClient.create(loops,
                    List.of(RedisURI.create(theirs, CLUSTER_PORT)));
                    StatefulRedisClusterConnection<String, String> connection = cluster.connect()) {
                for (int i = 0; i < 100; i++) {
                    connection.sync().set("key" + i, "value" + i);
                    assertEquals("value" + i, connection.sync().get("key" + i));
                }
            }
            assertTrue(node.isAlive());
        }
    }
}
