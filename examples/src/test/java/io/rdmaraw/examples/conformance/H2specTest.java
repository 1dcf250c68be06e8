package io.rdmaraw.examples.conformance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.examples.Setup;
import io.rdmaraw.examples.Stage;
import io.rdmaraw.testsuite.net.PeerProcess;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import java.util.TreeSet;
import javax.xml.parsers.DocumentBuilderFactory;

/**
 * Runs h2spec, the conformance suite of HTTP/2, against Netty's codec on this transport's channels and, for comparison,
 * on epoll's. Only cases that Netty's own run of the suite excludes may fail.
 */
@Tag("conformance")
@Timeout(600)
class H2specTest {
    private static final int CASES_AT_LEAST = 140;
    private static final Duration LIMIT = Duration.ofMinutes(8);

    /** The exclusions of Netty's module testsuite-http2. */
    private static final Set<String> LEFT_OUT_BY_NETTY = Set.of(
            "4.2 - Sends a dynamic table size update at the end of header block",
            "5.1 - idle: Sends a DATA frame",
            "5.1 - half closed (remote): Sends a HEADERS frame",
            "5.1 - closed: Sends a HEADERS frame",
            "5.1.1 - Sends stream identifier that is numerically smaller than previous",
            "8.1.2.2 - Sends a HEADERS frame that contains the connection-specific header field",
            "8.1.2.2 - Sends a HEADERS frame that contains the TE header field with any value other than \"trailers\"",
            "8.1.2.3 - Sends a HEADERS frame with empty \":path\" pseudo-header field",
            "8.1.2.3 - Sends a HEADERS frame that omits \":method\" pseudo-header field",
            "8.1.2.3 - Sends a HEADERS frame that omits \":scheme\" pseudo-header field",
            "8.1.2.3 - Sends a HEADERS frame that omits \":path\" pseudo-header field",
            "8.1.2.3 - Sends a HEADERS frame with duplicated \":method\" pseudo-header field",
            "8.1.2.3 - Sends a HEADERS frame with duplicated \":scheme\" pseudo-header field",
            "8.1.2.3 - Sends a HEADERS frame with duplicated \":path\" pseudo-header field",
            "8.1.2.6 - Sends a HEADERS frame with the \"content-length\" header field which does not equal the DATA "
                    + "frame payload length",
            "8.1.2.6 - Sends a HEADERS frame with the \"content-length\" header field which does not equal the sum of "
                    + "the multiple DATA frames payload length");

    @ParameterizedTest
    @EnumSource(mode = Mode.INCLUDE, names = {"EPOLL_VETH", "RDMA_RAW_PACKET", "RDMA_RAW_XDP"})
    void passes(Setup setup) throws Exception {
        Path h2spec = ForeignSuites.require("h2spec");
        Path report = ForeignSuites.reports("h2spec", setup).resolve("junit.xml");
        String output;
        try (Stage stage = new Stage(setup)) {
            InetSocketAddress at = stage.start(new PlainHttp2Server());
            try (PeerProcess run = stage.clients().start(h2spec.toString(), "--host", at.getHostString(), "--port",
                    Integer.toString(at.getPort()), "--timeout", "5", "--junit-report", report.toString())) {
                output = run.await(LIMIT).output();
            }
        }
        Set<String> failed = new TreeSet<>();
        int cases = read(report, failed);
        int leftOut = failed.size();
        failed.removeAll(LEFT_OUT_BY_NETTY);
        leftOut -= failed.size();
        ForeignSuites.record("h2spec 2.2.0", setup, cases - leftOut - failed.size() + " of " + cases,
                leftOut + " that Netty leaves out" + (failed.isEmpty() ? "" : "; FAILED: " + failed));
        assertTrue(cases >= CASES_AT_LEAST, output);
        assertEquals(Set.of(), failed, output);
    }

    /** Returns the number of cases. Adds the failed ones to the set, with names as in Netty's list. */
    private static int read(Path report, Set<String> failed) throws Exception {
        NodeList cases = DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(report.toFile())
                .getElementsByTagName("testcase");
        for (int i = 0; i < cases.getLength(); i++) {
            Element each = (Element) cases.item(i);
            if (each.getElementsByTagName("failure").getLength() + each.getElementsByTagName("error").getLength() > 0) {
                String section = each.getAttribute("package");
                failed.add(section.substring(section.indexOf('/') + 1) + " - " + each.getAttribute("classname"));
            }
        }
        return cases.getLength();
    }
}
