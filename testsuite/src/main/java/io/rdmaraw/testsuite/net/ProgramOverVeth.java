package io.rdmaraw.testsuite.net;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;

/**
 * Runs a program of the test's class path in a separate JVM, as users start it. Its device is one end of a veth pair;
 * stock programs run at the other end.
 */
public final class ProgramOverVeth {
    private static final int STOCK_PORT = 8090;
    /**
     * The heap is large enough to avoid garbage collections, because the tests search it for objects of closed
     * channels.
     */
    private static final List<String> JVM = List.of("--enable-native-access=ALL-UNNAMED", "-XX:+UseSerialGC",
            "-Xms1200m", "-Xmn1000m", "-XX:MetaspaceSize=256m", "-XX:TieredStopAtLevel=1",
            "-Dio.netty.leakDetection.level=paranoid");

    private final VethPair pair;
    private PeerProcess program;

    /** Creates the pair, with a namespace for each end. */
    public ProgramOverVeth(TestNetwork network) {
        pair = network.vethPair(network.namespace(), network.namespace());
    }

    /** Returns the device at the program's end. */
    public String device() {
        return "soft:xdp:" + pair.ours().name();
    }

    /** Returns the address of the program's end. */
    public String address() {
        return pair.ours().ipv4();
    }

    /** Returns the address of the other end. */
    public String peerAddress() {
        return pair.peer().ipv4();
    }

    /** Returns the namespace of the other end. */
    public NetworkNamespace peer() {
        return pair.peer().namespace();
    }

    private static String jdk(String name) {
        return Path.of(System.getProperty("java.home"), "bin", name).toString();
    }

    /** Starts the program and waits until it has printed that it is ready. */
    public PeerProcess start(String mainClass, String ready, String... arguments) {
        String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        List<String> command = new ArrayList<>(List.of(jdk("java")));
        command.addAll(JVM);
        command.addAll(List.of("-cp", classPath, mainClass));
        command.addAll(List.of(arguments));
        program = pair.ours().namespace().start(command.toArray(String[]::new));
        program.awaitOutput(ready, Await.PATIENCE.multipliedBy(2));
        return program;
    }

    /** Starts a stock server with a page at the other end and returns the URL of the page. */
    public String stockPage(Path directory, String text) throws IOException {
        Files.writeString(directory.resolve("page"), text);
        peer().start("python3", "-m", "http.server", "-d", directory.toString(), String.valueOf(STOCK_PORT));
        String page = "http://" + peerAddress() + ":" + STOCK_PORT + "/page";
        Await.until("the stock server", () -> peer().attempt("curl", "-s", "-m", "2", page).exitCode() == 0);
        return page;
    }

    /** Runs curl at the other end and returns its output. */
    public String curl(String... arguments) {
        return peer().run(Stream.concat(Stream.of("curl", "-sS", "-m", "30"), Arrays.stream(arguments))
                .toArray(String[]::new)).output();
    }

    /** Posts random bytes with curl. Fails unless the same bytes are returned. */
    public void checkEcho(String url, int bytes, Path directory) throws IOException {
        byte[] body = new byte[bytes];
        new Random(bytes).nextBytes(body);
        Path sent = Files.write(directory.resolve("sent"), body);
        Path got = directory.resolve("got");
        curl("-H", "Content-Type: application/octet-stream", "--data-binary", "@" + sent, "-o", got.toString(), url);
        check(Arrays.equals(body, Files.readAllBytes(got)), "other bytes came back than were sent");
    }

    /**
     * Fails if the program has not created channels of this transport, has created kernel channels, or has leaked a
     * buffer.
     */
    public void checkOnDeviceAlone() {
        // Includes objects that are unreachable but not yet collected.
        String classes = peer().run(jdk("jcmd"), String.valueOf(program.pid()), "GC.class_histogram", "-all").output();
        check(classes.contains("io.rdmaraw.channel.RdmaRawServerSocketChannel\n")
                && classes.contains("io.rdmaraw.channel.RdmaRawSocketChannel\n"), classes);
        check(!classes.contains("NioSocketChannel\n") && !classes.contains("EpollSocketChannel\n"), classes);
        check(!program.output().contains("LEAK"), "a buffer was lost");
    }

    private void check(boolean condition, String otherwise) {
        if (!condition) {
            throw new AssertionError(otherwise + "; the program has said:\n" + program.output());
        }
    }
}
