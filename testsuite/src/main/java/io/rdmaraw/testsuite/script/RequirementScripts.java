package io.rdmaraw.testsuite.script;

import java.util.ArrayList;
import java.util.List;

/** Scripts for the requirements of RFC 9293 that the other {@link Scripts} do not verify. */
final class RequirementScripts {
    private RequirementScripts() {
    }

    static List<Script> all() {
        List<Script> all = new ArrayList<>();
        all.addAll(headers());
        all.addAll(addresses());
        all.addAll(windows());
        all.addAll(openingAndClosing());
        all.addAll(sending());
        all.addAll(probing());
        all.addAll(messages());
        return all;
    }

    /** Sections 3.1 and 3.2. */
    private static List<Script> headers() {
        return List.of(
                Script.named("wrong checksum is dropped").established().peer("P. seq 1 ack 1 len 10 badsum")
                        .silenceMillis(100).delivered(0).peer("P. seq 1 ack 1 len 10").ours(". seq 1 ack 11")
                        .delivered(10).proves("MUST-2", "MUST-3"),
                Script.named("unknown option in a data segment is passed over").established()
                        .peer("P. seq 1 ack 1 len 10 opt fd04abcd").ours(". seq 1 ack 11").delivered(10)
                        .proves("MUST-5", "MUST-6"),
                Script.named("unknown option before the MSS is passed over").listen()
                        .peer("S seq 0 win 65535 opt fd04abcd020401f4").ours("S. seq 0 ack 1 mss 1460")
                        .peer(". seq 1 ack 1 win 65535").userSends(600).ours(". seq 1 ack 1 len 500")
                        .ours(". seq 501 ack 1 len 100").proves("MUST-4", "MUST-6"),
                Script.named("options need no alignment and end with the list").listen()
                        .peer("S seq 0 win 65535 opt 01020401f4000000").ours("S. seq 0 ack 1 mss 1460")
                        .peer(". seq 1 ack 1 win 65535").userSends(600).ours(". seq 1 ack 1 len 500")
                        .ours(". seq 501 ack 1 len 100").proves("MUST-4", "MUST-64"),
                Script.named("option of length 0 harms nothing").established()
                        .peer("P. seq 1 ack 1 len 10 opt fd000000").ours(". seq 1 ack 11").delivered(10)
                        .proves("MUST-7"),
                Script.named("option longer than the header harms nothing").established()
                        .peer("P. seq 1 ack 1 len 10 opt fd280000").ours(". seq 1 ack 11").delivered(10)
                        .proves("MUST-7"),
                Script.named("MSS option of a wrong length means 536").listen()
                        .peer("S seq 0 win 65535 opt 020301000000").ours("S. seq 0 ack 1 mss 1460")
                        .peer(". seq 1 ack 1 win 65535").userSends(600).ours(". seq 1 ack 1 len 536")
                        .ours(". seq 537 ack 1 len 64").proves("MUST-7", "MUST-15"),
                Script.named("urgent byte leaves the stream").established().peer("PU. seq 1 ack 1 urg 3 len 5")
                        .ours(". seq 1 ack 6").delivered(4));
    }

    /** Sections 3.9.2.3 and 3.10.7.2. */
    private static List<Script> addresses() {
        return List.of(
                Script.named("SYN to a multicast address is dropped").listen().peer("S seq 0 mss 1460 to 224.0.0.1")
                        .silenceMillis(200).peer("S seq 0 mss 1460").ours("S. seq 0 ack 1").proves("MUST-57"),
                Script.named("SYN to the broadcast address is dropped").listen()
                        .peer("S seq 0 mss 1460 to 255.255.255.255").silenceMillis(200).peer("S seq 0 mss 1460")
                        .ours("S. seq 0 ack 1").proves("MUST-57"),
                Script.named("SYN from a multicast address is dropped").listen()
                        .peer("S seq 0 mss 1460 from 224.0.0.1").silenceMillis(200).peer("S seq 0 mss 1460")
                        .ours("S. seq 0 ack 1").proves("MUST-63"),
                Script.named("SYN from the broadcast address is dropped").listen()
                        .peer("S seq 0 mss 1460 from 255.255.255.255").silenceMillis(200).peer("S seq 0 mss 1460")
                        .ours("S. seq 0 ack 1").proves("MUST-63"),
                Script.named("SYN from no address is dropped").listen().peer("S seq 0 mss 1460 from 0.0.0.0")
                        .silenceMillis(200).peer("S seq 0 mss 1460").ours("S. seq 0 ack 1").proves("MUST-63"));
    }

    /** Section 3.8.6. */
    private static List<Script> windows() {
        return List.of(
                Script.named("window that shrinks over what is in flight breaks nothing").established()
                        .userSends(2_920).oursInARow(1, 2).peer(". seq 1 ack 1461 win 100").silenceMillis(100)
                        .peer(". seq 1 ack 2921 win 65535").userSends(10).ours(". seq 2921 ack 1 len 10")
                        .proves("MUST-34", "SHLD-15", "SHLD-16", "SHLD-17"),
                Script.named("reset is taken though the window is closed").userDoesNotRead().established()
                        .peerFillsWindow().peer("R seq 1").waitMillis(20).userSeesReset().proves("MUST-66"),
                Script.named("acknowledgment is taken though the window is closed").userDoesNotRead().established()
                        .peerFillsWindow().userSends(10).ours(". seq 1 ack 1 win 0 len 10").peer(". seq 1 ack 11")
                        .silenceMillis(1_000).proves("MUST-66"),
                Script.named("window opens by a good step only").userDoesNotRead().established().peerFillsWindow()
                        .userReads(500).silenceMillis(1_000).userReads(40_000).ours(". seq 1 ack 1 open")
                        .proves("MUST-39"),
                Script.named("window that stays closed is borne").established().peer(". seq 1 ack 1 win 0")
                        .userSends(10).ours(". seq 0 ack 1").peer(". seq 1 ack 1 win 0").ours(". seq 0 ack 1")
                        .peer(". seq 1 ack 1 win 0").ours(". seq 0 ack 1").peer(". seq 1 ack 1 win 0")
                        .ours(". seq 0 ack 1").peer(". seq 1 ack 1 win 65535").ours(". seq 1 ack 1 len 10")
                        .proves("MUST-35", "MUST-36", "MUST-37", "SHLD-30"),
                Script.named("small part of a large window is not used at once").established().userSends(1_460)
                        .ours(". seq 1 ack 1 len 1460").peer(". seq 1 ack 1461 win 100").userSends(1_460)
                        .silenceMillis(150).ours(". seq 1461 ack 1 len 100").proves("MUST-38", "SHLD-29"));
    }

    /** Sections 3.5 and 3.6. */
    private static List<Script> openingAndClosing() {
        return List.of(
                Script.named("reset of a passive open leads back to LISTEN").listen().peer("S seq 0 mss 1460")
                        .ours("S. seq 0 ack 1").peer("R seq 1").silenceMillis(1_500).again().peer("S seq 0 mss 1460")
                        .ours("S. seq 0 ack 1").peer(". seq 1 ack 1").userSends(1).ours(". seq 1 ack 1 len 1")
                        .proves("MUST-11"),
                Script.named("reset of a simultaneous open refuses").connect().ours("S seq 0 sackOK")
                        .peer("S seq 0 mss 1460 sackOK").ours("S. seq 0 ack 1 sackOK").peer("R seq 1").waitMillis(20)
                        .userSeesReset().silenceMillis(1_500).proves("MUST-11", "MUST-12"),
                Script.named("reset may carry data").established().peer("R seq 1 len 20").waitMillis(20)
                        .userSeesReset().proves("SHLD-2", "MUST-12"),
                Script.named("TIME-WAIT lasts a minute").established().userCloses().ours("F. seq 1 ack 1")
                        .peer("F. seq 1 ack 2").ours(". seq 2 ack 2").silenceMillis(59_000).peer("F. seq 1 ack 2")
                        .ours(". seq 2 ack 2").silenceMillis(61_000).peer("F. seq 1 ack 2").ours("R seq 2")
                        .coreOnly("takes two minutes"));
    }

    /** Sections 3.7.4 and 3.8.6.3. */
    private static List<Script> sending() {
        return List.of(
                Script.named("small segment waits for another one (Nagle)").established().userWantsNagle()
                        .userSends(10).ours(". seq 1 ack 1 len 10").userSends(10).silenceMillis(100)
                        .peer(". seq 1 ack 11").ours(". seq 11 ack 1 len 10").proves("SHLD-7"),
                Script.named("small segment does not wait where Nagle is off").established().userSends(10)
                        .ours(". seq 1 ack 1 len 10").userSends(10).ours(". seq 11 ack 1 len 10")
                        .proves("MUST-17"),
                Script.named("end of what was queued is pushed at once").established().userSends(10)
                        .oursWithinMillis(100, "P. seq 1 ack 1 len 10").proves("MUST-60", "MUST-61"),
                Script.named("acknowledgment waits less than half a second").established()
                        .peer("P. seq 1 ack 1 len 100").oursWithinMillis(499, ". seq 1 ack 101")
                        .proves("MUST-40", "SHLD-18"),
                manyFullSegments(Script.named("one acknowledgment for two segments at a time").established())
                        .peer(". seq 58401 ack 1 len 1460").peer(". seq 59861 ack 1 len 1460")
                        .ours(". seq 1 ack 61321")
                        .silenceMillis(100).proves("MUST-58", "MUST-59", "SHLD-19"));
    }

    /**
     * Sends 40 full segments one by one, because the first segments of a connection are acknowledged immediately.
     */
    private static Script manyFullSegments(Script script) {
        for (int i = 0; i < 40; i++) {
            script.peer(". seq " + (1 + i * 1460) + " ack 1 len 1460").waitMillis(3);
        }
        return script.waitMillis(100);
    }

    /** Sections 3.8.3 and 3.8.4. */
    private static List<Script> probing() {
        return List.of(
                Script.named("idle connection is not probed unless asked").established().silenceMillis(86_400_000)
                        .peer("P. seq 1 ack 1 len 10").ours(". seq 1 ack 11").coreOnly("takes a day")
                        .proves("MUST-25"),
                Script.named("peer that speaks is not probed").established().userWantsKeepAlive().silenceMillis(800)
                        .peer("P. seq 1 ack 1 len 10").ours(". seq 1 ack 11").silenceMillis(800)
                        .ours(". seq 0 ack 11").proves("MUST-26", "SHLD-12"),
                Script.named("probe without an answer kills nothing").established().userWantsKeepAlive()
                        .silenceMillis(800).ours(". seq 0 ack 1").silenceMillis(800).ours(". seq 0 ack 1")
                        .peer(". seq 1 ack 1").userSends(10).ours(". seq 1 ack 1 len 10").proves("MUST-29", "SHLD-12"));
    }

    /** Section 3.9.2.2. */
    private static List<Script> messages() {
        return List.of(
                Script.named("next hop of a smaller MTU is heeded").established().userSends(1_460)
                        .ours(". seq 1 ack 1 len 1460").icmp("too-big seq 1 mtu 1000").ours(". seq 1 ack 1 len 960")
                        .ours(". seq 961 ack 1 len 500").peer(". seq 1 ack 1461").proves("MUST-54"),
                Script.named("source quench is dropped").established().userSends(10).ours(". seq 1 ack 1 len 10")
                        .icmp("source-quench seq 1").silenceMillis(100).peer(". seq 1 ack 11").userSends(10)
                        .ours(". seq 11 ack 1 len 10").proves("MUST-55"),
                Script.named("soft errors end no connection").established().userSends(10).ours(". seq 1 ack 1 len 10")
                        .icmp("net-unreachable seq 1").icmp("host-unreachable seq 1").icmp("source-route-failed seq 1")
                        .icmp("time-exceeded seq 1").icmp("parameter-problem seq 1").peer(". seq 1 ack 11")
                        .userSends(10).ours(". seq 11 ack 1 len 10").peer("P. seq 1 ack 21 len 10")
                        .ours(". seq 21 ack 11").delivered(10).proves("MUST-56"),
                Script.named("message about what was never sent is dropped").established().userSends(1_460)
                        .ours(". seq 1 ack 1 len 1460").icmp("too-big seq 5000 mtu 1000").silenceMillis(100)
                        .peer(". seq 1 ack 1461"));
    }
}
