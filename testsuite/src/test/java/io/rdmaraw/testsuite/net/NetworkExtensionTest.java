package io.rdmaraw.testsuite.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;
import org.junit.platform.testkit.engine.EngineExecutionResults;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Event;

/** Runs passing and failing tests and checks which captures and namespaces remain. */
@WithTestNetwork
class NetworkExtensionTest {
    private static final String CAPTURES = "rdmaraw.captures";

    private static TestNetwork classNetwork;

    @BeforeAll
    static void aClassCanHaveANetwork(TestNetwork network) {
        classNetwork = network;
    }

    @Test
    void testsOfAClassShareItsNetwork(TestNetwork network) {
        assertEquals(classNetwork, network);
    }

    @Test
    void aFailedTestKeepsItsCaptureAndNothingElse(@TempDir Path directory) throws Exception {
        Event failed = run("fails", directory).testEvents().failed().list().getFirst();
        Throwable thrown = failed.getRequiredPayload(org.junit.platform.engine.TestExecutionResult.class)
                .getThrowable().orElseThrow();
        assertEquals("on purpose", thrown.getMessage());
        List<Path> files = files(directory);
        assertEquals(1, files.size());
        assertTrue(files.getFirst().getFileName().toString().startsWith("Subject.fails-rr"));
        assertTrue(thrown.getSuppressed()[0].getMessage().contains(files.getFirst().toString()));
        assertFalse(NetworkNamespace.list().contains(Subject.namespaceName));
    }

    @Test
    void aPassedTestLeavesNothing(@TempDir Path directory) throws Exception {
        assertEquals(1, run("passes", directory).testEvents().succeeded().count());
        assertEquals(List.of(), files(directory));
        assertFalse(NetworkNamespace.list().contains(Subject.namespaceName));
    }

    /** Each capture starts empty. Otherwise the last test's capture would also hold the frames of earlier tests. */
    @Test
    void testsThatShareANetworkHaveCapturesOfTheirOwn(@TempDir Path directory) throws Exception {
        withCaptures(directory, () -> {
            EngineTestKit.engine("junit-jupiter").selectors(selectClass(Sharing.class)).execute();
            return null;
        });
        List<Path> files = files(directory);
        assertEquals(1, files.size(), files.toString());
        assertTrue(files.getFirst().getFileName().toString().startsWith("Sharing.second-2-rr"), files.toString());
        assertEquals(List.of(1L, 1L), Sharing.PINGS);
    }

    private static List<Path> files(Path directory) throws IOException {
        try (var list = Files.list(directory)) {
            return list.toList();
        }
    }

    private static EngineExecutionResults run(String method, Path captures) throws Exception {
        return withCaptures(captures, () -> EngineTestKit.engine("junit-jupiter")
                .selectors(selectMethod(Subject.class, method, TestNetwork.class.getName())).execute());
    }

    private static EngineExecutionResults withCaptures(Path captures, Callable<EngineExecutionResults> run)
            throws Exception {
        String before = System.getProperty(CAPTURES);
        System.setProperty(CAPTURES, captures.toString());
        try {
            return run.call();
        } finally {
            if (before == null) {
                System.clearProperty(CAPTURES);
            } else {
                System.setProperty(CAPTURES, before);
            }
        }
    }

    /** Run only by this test: Surefire ignores static nested classes. */
    @WithTestNetwork
    static class Subject {
        static String namespaceName;

        @Test
        void passes(TestNetwork network) {
            namespaceName = network.vethPair().peer().namespace().name();
        }

        @Test
        void fails(TestNetwork network) {
            passes(network);
            fail("on purpose");
        }
    }

    /** Run only by this test, like {@link Subject}. */
    @WithTestNetwork
    @TestMethodOrder(MethodOrderer.MethodName.class)
    static class Sharing {
        static final List<Long> PINGS = new ArrayList<>();
        private static VethPair pair;

        @BeforeAll
        static void connect(TestNetwork network) {
            pair = network.vethPair();
        }

        private static void ping(TestNetwork network) throws IOException {
            network.current().run("ping", "-c", "1", "-W", "5", pair.peer().ipv4());
            Path capture = files(Path.of(System.getProperty(CAPTURES))).getFirst();
            Await.until("the ping in " + capture, () -> requests(network, capture) > 0);
            PINGS.add(requests(network, capture));
        }

        private static long requests(TestNetwork network, Path capture) {
            return network.current().run("tcpdump", "-n", "-r", capture.toString()).output().lines()
                    .filter(line -> line.contains("ICMP echo request")).count();
        }

        @Test
        void first(TestNetwork network) throws IOException {
            ping(network);
        }

        @Test
        void second(TestNetwork network) throws IOException {
            ping(network);
            fail("on purpose");
        }
    }
}
