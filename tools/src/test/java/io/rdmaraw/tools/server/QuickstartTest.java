package io.rdmaraw.tools.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmaraw.channel.RdmaRaw;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.tools.run.JavaCommand;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.w3c.dom.Document;
import org.w3c.dom.Element;

/** The project of the quick start in examples/quickstart, and its excerpts in docs/guide/quickstart.md. */
@Timeout(180)
class QuickstartTest {
    private static final Path PAGE = Path.of("../docs/guide/quickstart.md");
    private static final Path PROJECT = Path.of("../examples/quickstart");
    private static final Path SOURCE = PROJECT.resolve("src/main/java/HelloServer.java");

    private static String block(String language, String containing) throws Exception {
        String[] parts = Files.readString(PAGE).split("```" + language + "\n");
        // The first part precedes the first block.
        for (int i = 1; i < parts.length; i++) {
            String block = parts[i].split("```")[0];
            if (block.contains(containing)) {
                return block;
            }
        }
        throw new AssertionError("the page has no block of " + language + " with " + containing);
    }

    @Test
    void thePageShowsPartsOfTheProject() throws Exception {
        String source = Files.readString(SOURCE);
        assertTrue(source.contains(block("java", "ServerBootstrap")));
        String pom = Files.readString(PROJECT.resolve("pom.xml"));
        for (String dependency : block("xml", "<dependency>").strip().split("(?=<dependency>)")) {
            assertTrue(pom.contains(dependency.strip().indent(4).stripTrailing()), dependency);
        }
    }

    /** The versions in the POM match those of this build and its dependencies. */
    @Test
    void pomNamesTheVersionsOfThisBuild() throws Exception {
        Document pom = DocumentBuilderFactory.newInstance().newDocumentBuilder()
                .parse(PROJECT.resolve("pom.xml").toFile());
        String ours = pom.getElementsByTagName("rdmaraw.version").item(0).getTextContent();
        List<String> dependencies = IntStream.range(0, pom.getElementsByTagName("dependency").getLength())
                .mapToObj(i -> (Element) pom.getElementsByTagName("dependency").item(i))
                .map(each -> text(each, "artifactId") + ' '
                        + text(each, "version").replace("${rdmaraw.version}", ours)).toList();

        String nettyVersion = io.netty.util.Version.identify().get("netty-codec-http").artifactVersion();
        assertEquals(List.of("netty-transport-rdma-raw " + RdmaRaw.version(),
                "netty-transport-rdma-raw-native " + RdmaRaw.version(), "netty-codec-http " + nettyVersion),
                dependencies);
    }

    private static String text(Element element, String name) {
        return element.getElementsByTagName(name).item(0).getTextContent();
    }

    /** The server answers the page's request over a veth pair, and the server's kernel receives no segment. */
    @Test
    @Tag("root")
    void theServerAnswersCurlPastTheKernel() throws Exception {
        assumeTrue("root".equals(System.getProperty("user.name")), "needs root");
        ServerNetwork.require("curl", "curl");
        List<String> request = List.of(block("console", "curl").split("\n"));
        try (ServerNetwork network = new ServerNetwork()) {
            NetworkNamespace side = network.serverSide();
            String device = "soft:xdp:" + network.serverInterface();
            List<String> command = new ArrayList<>(JavaCommand.of(SOURCE.toString()));
            command.add(device);
            try (PeerProcess server = side.start(command.toArray(String[]::new))) {
                server.awaitOutput("listening: ", Duration.ofSeconds(60));
                assertTrue(server.output().contains(", " + device + "]"), server.output());
                String curl = request.getFirst().replace("$ ip netns exec peer ", "")
                        .replace("198.18.0.1", network.serverAddress());
                assertEquals(request.getLast() + "\n", network.runClient(curl.split(" ")));
            }
            String[] tcp = side.run("cat", "/proc/net/snmp").output().lines().filter(line -> line.startsWith("Tcp:"))
                    .skip(1).findFirst().orElseThrow().split(" ");
            assertEquals("0", tcp[10], "InSegs of the server's kernel");
        }
    }
}
