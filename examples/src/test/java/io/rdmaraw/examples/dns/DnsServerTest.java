package io.rdmaraw.examples.dns;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.examples.Setup;
import io.rdmaraw.examples.Stage;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Queries the DNS server with dig and dnsperf. */
@Timeout(120)
class DnsServerTest {
    private static final String DIG = "dig:bind9-dnsutils";

    private static String dig(Stage stage, int port, String... question) {
        List<String> command = new ArrayList<>(List.of("dig", "@" + stage.serverAddress(), "-p",
                Integer.toString(port), "+tries=2", "+time=10"));
        command.addAll(List.of(question));
        return stage.run(command.toArray(String[]::new));
    }

    private static int start(Stage stage) throws Exception {
        return stage.start(new DnsServer()).getPort();
    }

    @ParameterizedTest
    @EnumSource
    void answersWithTheRecordsOfTheZone(Setup setup) throws Exception {
        Stage.require(DIG);
        try (Stage stage = new Stage(setup)) {
            int port = start(stage);
            assertEquals("192.0.2.80\n192.0.2.81\n", dig(stage, port, "+short", "www.example.test", "A"));
            assertEquals("2001:db8::80\n", dig(stage, port, "+short", "WWW.Example.TEST", "AAAA"));
            assertEquals("www.example.test.\n2001:db8::80\n", dig(stage, port, "+short", "web.example.test", "AAAA"));
            assertEquals("\"one string\" \"and another\"\n", dig(stage, port, "+short", "text.example.test", "TXT"));
            assertEquals("10 mail.example.test.\n", dig(stage, port, "+short", "example.test", "MX"));
            String noName = dig(stage, port, "nobody.example.test", "A");
            assertTrue(noName.contains("status: NXDOMAIN") && noName.contains("SOA\tns.example.test."), noName);
            String noData = dig(stage, port, "mail.example.test", "AAAA");
            assertTrue(noData.contains("status: NOERROR") && noData.contains("ANSWER: 0, AUTHORITY: 1"), noData);
            assertTrue(dig(stage, port, "example.org", "A").contains("status: REFUSED"));
            assertTrue(dig(stage, port, "+edns=7", "+noednsneg", "www.example.test", "A").contains("BADVERS"));
        }
    }

    /** The answers have 663 and 2,649 bytes. The second is fragmented on a link with an MTU of 1,500. */
    @ParameterizedTest
    @EnumSource
    void answersAreAsLongAsTheClientAllows(Setup setup) throws Exception {
        Stage.require(DIG);
        try (Stage stage = new Stage(setup)) {
            int port = start(stage);
            String truncated = dig(stage, port, "+noedns", "+ignore", "medium.example.test", "TXT");
            assertTrue(truncated.contains("flags: qr aa tc rd;") && truncated.contains("ANSWER: 0"), truncated);
            String whole = dig(stage, port, "+bufsize=1232", "+ignore", "medium.example.test", "TXT");
            assertTrue(whole.contains("flags: qr aa rd;") && whole.contains("rcvd: 663"), whole);
            String big = dig(stage, port, "+bufsize=1232", "+ignore", "big.example.test", "TXT");
            assertTrue(big.contains("flags: qr aa tc rd;"), big);
            String fragmented = dig(stage, port, "+bufsize=4096", "+ignore", "big.example.test", "TXT");
            assertTrue(fragmented.contains("ANSWER: 12") && fragmented.contains("rcvd: 2649"), fragmented);
            for (int i = 0; i < 12; i++) {
                String line = String.format("\"line %02d of the answer that does not fit in one frame, %s\"", i,
                        "0123456789".repeat(15));
                assertTrue(fragmented.contains(line), fragmented);
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void losesNoQueryOfDnsperf(Setup setup, @TempDir Path directory) throws Exception {
        Stage.require("dnsperf:dnsperf");
        Path queries = Files.writeString(directory.resolve("queries"),
                "www.example.test A\nwww.example.test AAAA\ntext.example.test TXT\nnobody.example.test A\n");
        try (Stage stage = new Stage(setup)) {
            int port = start(stage);
            String report = stage.run("dnsperf", "-s", stage.serverAddress(), "-p", Integer.toString(port), "-d",
                    queries.toString(), "-n", "5000", "-q", "50", "-t", "20");
            assertEquals(20_000, number(report, "Queries completed:\\s+(\\d+)"), report);
            assertEquals(0, number(report, "Queries lost:\\s+(\\d+)"), report);
            assertTrue(report.contains("NOERROR 15000 (75.00%), NXDOMAIN 5000 (25.00%)"), report);
            assertFalse(report.contains("Warning"), report);
        }
    }

    private static long number(String report, String pattern) {
        Matcher matcher = Pattern.compile(pattern).matcher(report);
        assertTrue(matcher.find(), report);
        return Long.parseLong(matcher.group(1));
    }
}
