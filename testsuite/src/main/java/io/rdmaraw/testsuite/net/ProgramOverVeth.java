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
 * A program of the test's class path in a JVM of its own, as its users start it, on a device at one end of a veth pair.
 * Stock programs are at the other end.
 */
public final class ProgramOverVeth {
    private static final int STOCK_PORT = 8090;
    /** With a heap that is not collected while the tests ask: channels that have ended are looked for in it. */
    private static final List<String> JVM = List.of("--enable-native-access=ALL-UNNAMED", "-XX:+UseSerialGC",
            "-Xms1200m", "-Xmn1000m", "-XX:MetaspaceSize=256m", "-XX:TieredStopAtLevel=1",
            "-Dio.netty.leakDetection.level=paranoid");

    private final VethPair pair;
    private PeerProcess program;

    /** Makes the pair, with a namespace for each end. */
    public ProgramOverVeth(TestNetwork network) {
        pair = network.vethPair(network.namespace(), network.namespace());
    }

    /** The device at the program's end. */
    public String device() {
        return "soft:xdp:" + pair.ours().name();
    }

    /** The address of the program's end. */
    public String address() {
        return pair.ours().ipv4();
    }

    /** The address of the other end. */
    public String peerAddress() {
        return pair.peer().ipv4();
    }

    /** The other end. */
    public NetworkNamespace peer() {
        return pair.peer().namespace();
    }

    private static String jdk(String name) {
        return Path.of(System.getProperty("java.home"), "bin", name).toString();
    }

    /** Starts the program; returns when it has printed that it is ready. */
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

    /** Has a stock server at the other end serve a text; returns where. */
    public String stockPage(Path directory, String text) throws IOException {
        Files.writeString(directory.resolve("page"), text);
        peer().start("python3", "-m", "http.server", "-d", directory.toString(), String.valueOf(STOCK_PORT));
        String page = "http://" + peerAddress() + ":" + STOCK_PORT + "/page";
        Await.until("the stock server", () -> peer().attempt("curl", "-s", "-m", "2", page).exitCode() == 0);
        return page;
    }

    /** What curl prints at the other end. */
    public String curl(String... arguments) {
        return peer().run(Stream.concat(Stream.of("curl", "-sS", "-m", "30"), Arrays.stream(arguments))
                .toArray(String[]::new)).output();
    }

    /** Posts random bytes by curl; fails unless the same come back. */
    public void checkEcho(String url, int bytes, Path directory) throws IOException {
        byte[] body = new byte[bytes];
        new Random(bytes).nextBytes(body);
        Path sent = Files.write(directory.resolve("sent"), body);
        Path got = directory.resolve("got");
        curl("-H", "Content-Type: application/octet-stream", "--data-binary", "@" + sent, "-o", got.toString(), url);
        check(Arrays.equals(body, Files.readAllBytes(got)), "other bytes came back than were sent");
    }

    /** Fails unless the program has made channels of this transport, of the kernel's none, and has lost no buffer. */
    public void checkOnDeviceAlone() {
        // Of all objects that were not collected yet.
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
