package io.rdmaraw.testsuite.script;

import java.util.ArrayList;
import java.util.List;

/** The scripts that the core must follow. Each is also played against Linux unless it declares why not. */
public final class Scripts {
    private Scripts() {
    }

    /** Returns all scripts. */
    public static List<Script> all() {
        List<Script> all = new ArrayList<>();
        all.addAll(opening());
        all.addAll(resets());
        all.addAll(receiving());
        all.addAll(sending());
        all.addAll(recovery());
        all.addAll(closing());
        all.addAll(RequirementScripts.all());
        all.addAll(PacketdrillScripts.all());
        return all;
    }

    /** RFC 9293 sections 3.5 and 3.10.7.3. */
    private static List<Script> opening() {
        return List.of(
                Script.named("passive open with all options").proves("MUST-14", "SHLD-5", "MAY-3", "MUST-67").listen()
                        .peer("S seq 0 win 65535 mss 1460 ws 7 sackOK ts 100")
                        .ours("S. seq 0 ack 1 mss 1460 sackOK ts 100").peer(". seq 1 ack 1 ts 101")
                        .userSends(10).ours(". seq 1 ack 1 len 10 ts 101").peer(". seq 1 ack 11 ts 102")
                        .silenceMillis(100),
                Script.named("active open").proves("MUST-14", "MUST-67").connect().ours("S seq 0 mss 1460 sackOK")
                        .peer("S. seq 0 ack 1 mss 1000").ours(". seq 1 ack 1").userSends(10)
                        .ours(". seq 1 ack 1 len 10").peer(". seq 1 ack 11").silenceMillis(100),
                Script.named("SYN is sent again, each time later")
                        .proves("MUST-19", "MUST-22").connect().ours("S seq 0 sackOK").silenceMillis(900)
                        .ours("S seq 0 sackOK").silenceMillis(1_900).ours("S seq 0 sackOK").silenceMillis(3_900)
                        .ours("S seq 0 sackOK"),
                Script.named("SYN-ACK is sent again").listen().peer("S seq 0 mss 1460").ours("S. seq 0 ack 1")
                        .silenceMillis(900).ours("S. seq 0 ack 1").peer(". seq 1 ack 1").userSends(1)
                        .ours(". seq 1 ack 1 len 1"),
                Script.named("SYN again is answered again").listen().peer("S seq 0 mss 1460").ours("S. seq 0 ack 1")
                        .peer("S seq 0 mss 1460").ours("S. seq 0 ack 1").peer(". seq 1 ack 1").userSends(1)
                        .ours(". seq 1 ack 1 len 1"),
                Script.named("simultaneous open").proves("MUST-10").connect().ours("S seq 0 sackOK")
                        .peer("S seq 0 win 65535 mss 1460 sackOK").ours("S. seq 0 ack 1 sackOK")
                        .peer("S. seq 0 ack 1 win 65535 mss 1460 sackOK").waitMillis(20)
                        .userSends(5).ours(". seq 1 ack 1 len 5"),
                Script.named("old acknowledgment in SYN-SENT is reset").connect().ours("S seq 0 sackOK")
                        .peer(". seq 0 ack 77").ours("R seq 77").peer("S. seq 0 ack 1 mss 1460").ours(". seq 1 ack 1"),
                Script.named("reset in SYN-SENT refuses")
                        .proves("MUST-12").connect().ours("S seq 0 sackOK").peer("R. seq 0 ack 1")
                        .waitMillis(20).userSeesReset().silenceMillis(1_200),
                Script.named("reset with a wrong acknowledgment in SYN-SENT is ignored").connect()
                        .ours("S seq 0 sackOK")
                        .peer("R. seq 0 ack 5").waitMillis(50).peer("S. seq 0 ack 1 mss 1460").ours(". seq 1 ack 1"),
                Script.named("data with the last acknowledgment of the handshake").listen().peer("S seq 0 mss 1460")
                        .ours("S. seq 0 ack 1").peer("P. seq 1 ack 1 len 50").ours(". seq 1 ack 51").delivered(50),
                Script.named("connection in TIME-WAIT gives way to a newer SYN")
                        .proves("MAY-2").established().userCloses()
                        .ours("F. seq 1 ack 1").peer(". seq 1 ack 2").peer("F. seq 1 ack 2").ours(". seq 2 ack 2")
                        .again()
                        .peer("S seq 0 mss 1460").ours("S. seq 0 ack 1"));
    }

    /** RFC 9293 section 3.5.2 and RFC 5961. */
    private static List<Script> resets() {
        return List.of(
                Script.named("SYN to a closed port").peer("S seq 0 mss 1460").ours("R. seq 0 ack 1"),
                Script.named("ACK to a closed port").peer(". seq 5 ack 77").ours("R seq 77"),
                Script.named("reset to a closed port is not answered").peer("R seq 5").silenceMillis(100),
                Script.named("reset in the window but not exact earns a challenge")
                        .proves("MAY-12", "MUST-12").established().peer("R seq 100")
                        .ours(". seq 1 ack 1").peer("P. seq 1 ack 1 len 10").ours(". seq 1 ack 11").peer("R seq 11")
                        .waitMillis(20).userSeesReset().silenceMillis(100),
                Script.named("reset outside the window is ignored").established().peer("R seq 200000")
                        .silenceMillis(100)
                        .peer("P. seq 1 ack 1 len 10").ours(". seq 1 ack 11"),
                Script.named("SYN in an open connection earns a challenge")
                        .proves("MAY-12").established().peer("S seq 500")
                        .ours(". seq 1 ack 1").peer("P. seq 1 ack 1 len 10").ours(". seq 1 ack 11"),
                Script.named("acknowledgment of what was never sent harms nothing").proves("MAY-12").established()
                        .peer(". seq 1 ack 100").waitMillis(50).userSends(10).ours(". seq 1 ack 1 len 10")
                        .peer(". seq 1 ack 11").silenceMillis(300));
    }

    private static List<Script> receiving() {
        return List.of(
                Script.named("data in order").established().peer("P. seq 1 ack 1 len 100").ours(". seq 1 ack 101")
                        .delivered(100),
                Script.named("data out of order, with SACK")
                        .proves("SHLD-31", "MAY-13").establishedWithSack().peer("P. seq 101 ack 1 len 100")
                        .ours(". seq 1 ack 1 sack 101-201").peer("P. seq 301 ack 1 len 100")
                        .ours(". seq 1 ack 1 sack 301-401 sack 101-201").peer("P. seq 1 ack 1 len 100")
                        .ours(". seq 1 ack 201 sack 301-401").peer("P. seq 201 ack 1 len 100").ours(". seq 1 ack 401")
                        .delivered(400),
                Script.named("data out of order, without SACK")
                        .proves("SHLD-31", "MAY-13").established().peer("P. seq 101 ack 1 len 100")
                        .ours(". seq 1 ack 1").peer("P. seq 1 ack 1 len 100").ours(". seq 1 ack 201").delivered(200),
                Script.named("data twice is reported (D-SACK)").establishedWithSack().peer("P. seq 1 ack 1 len 100")
                        .ours(". seq 1 ack 101").peer("P. seq 1 ack 1 len 100").ours(". seq 1 ack 101 sack 1-101")
                        .delivered(100),
                Script.named("part of what is held is reported too (D-SACK)").establishedWithSack()
                        .peer("P. seq 101 ack 1 len 100").ours(". seq 1 ack 1 sack 101-201")
                        .peer("P. seq 151 ack 1 len 100").ours(". seq 1 ack 1 sack 151-201 sack 101-251")
                        .peer("P. seq 51 ack 1 len 100").ours(". seq 1 ack 1 sack 101-151 sack 51-251")
                        .peer("P. seq 1 ack 1 len 100").ours(". seq 1 ack 251 sack 51-101").delivered(250),
                Script.named("overlapping data is taken once").established().peer("P. seq 1 ack 1 len 100")
                        .ours(". seq 1 ack 101").peer("P. seq 51 ack 1 len 100").ours(". seq 1 ack 151").delivered(150),
                Script.named("data beyond the window is refused").established().peer("P. seq 200000 ack 1 len 10")
                        .ours(". seq 1 ack 1").delivered(0),
                Script.named("older timestamp is dropped (PAWS)").establishedWithTimestamps()
                        .peer("P. seq 1 ack 1 len 10 ts 2000").ours(". seq 1 ack 11 ts 2000")
                        .peer("P. seq 11 ack 1 len 10 ts 1500").ours(". seq 1 ack 11 ts 2000").delivered(10)
                        .peer("P. seq 11 ack 1 len 10 ts 2001").ours(". seq 1 ack 21 ts 2001").delivered(20),
                Script.named("keepalive probe is answered").established().peer(". seq 0 ack 1").ours(". seq 1 ack 1")
                        .peer("P. seq 1 ack 1 len 10").ours(". seq 1 ack 11"),
                Script.named("FIN waits for the data before it").established().peer("F. seq 101 ack 1")
                        .ours(". seq 1 ack 1").peer("P. seq 1 ack 1 len 100").ours(". seq 1 ack 102").delivered(100)
                        .userSeesEnd());
    }

    private static List<Script> sending() {
        return List.of(
                Script.named("segments keep to the peer's MSS")
                        .proves("MUST-14", "MUST-16").listen().peer("S seq 0 win 65535 mss 500")
                        .ours("S. seq 0 ack 1").peer(". seq 1 ack 1 win 65535").userSends(1_200)
                        .ours(". seq 1 ack 1 len 500").ours(". seq 501 ack 1 len 500").ours(". seq 1001 ack 1 len 200"),
                Script.named("no MSS option means 536")
                        .proves("MUST-15").listen().peer("S seq 0 win 65535").ours("S. seq 0 ack 1")
                        .peer(". seq 1 ack 1 win 65535").userSends(600).ours(". seq 1 ack 1 len 536")
                        .ours(". seq 537 ack 1 len 64"),
                Script.named("closed window is probed, then opens")
                        .proves("MUST-36", "SHLD-29", "SHLD-30").established().peer(". seq 1 ack 1 win 0")
                        .userSends(10)
                        .silenceMillis(150).ours(". seq 0 ack 1").peer(". seq 1 ack 1 win 0").silenceMillis(250)
                        .ours(". seq 0 ack 1").peer(". seq 1 ack 1 win 1000").ours(". seq 1 ack 1 len 10"),
                Script.named("small window is filled")
                        .proves("MUST-38").listen().peer("S seq 0 win 500 mss 1460").ours("S. seq 0 ack 1")
                        .peer(". seq 1 ack 1 win 500").userSends(1_000).ours(". seq 1 ack 1 len 500").silenceMillis(100)
                        .peer(". seq 1 ack 501 win 500").ours(". seq 501 ack 1 len 500"),
                Script.named("window taken back is kept to")
                        .proves("MUST-34", "SHLD-15").established().peer("P. seq 1 ack 1 len 1")
                        .ours(". seq 1 ack 2").peer("P. seq 2 ack 1 win 500 len 1").ours(". seq 1 ack 3")
                        .userSends(1_000).silenceMillis(150).ours(". seq 1 ack 3 len 500")
                        .peer(". seq 3 ack 501 win 65535").ours(". seq 501 ack 3 len 500"),
                Script.named("ten segments before the first acknowledgment")
                        .proves("MUST-1", "MUST-19", "MUST-65").established().userSends(20_000)
                        .oursInARow(1, 10).silenceMillis(100).peer(". seq 1 ack 2921")
                        .oursInARow(14601, 2));
    }

    private static List<Script> recovery() {
        return List.of(
                Script.named("retransmission timeout doubles")
                        .proves("MUST-19").established().userSends(10).ours(". seq 1 ack 1 len 10")
                        .silenceMillis(150).ours(". seq 1 ack 1 len 10").silenceMillis(350).ours(". seq 1 ack 1 len 10")
                        .silenceMillis(700).ours(". seq 1 ack 1 len 10").peer(". seq 1 ack 11").silenceMillis(500),
                Script.named("loss is found by SACK").establishedWithSack().userSends(7_300)
                        .oursInARow(1, 5)
                        .peer(". seq 1 ack 1 sack 1461-2921").peer(". seq 1 ack 1 sack 1461-4381")
                        .peer(". seq 1 ack 1 sack 1461-5841").ours(". seq 1 ack 1 len 1460").peer(". seq 1 ack 7301")
                        .silenceMillis(500),
                Script.named("loss is found by three duplicates").established().userSends(7_300)
                        .oursInARow(1, 5).peer(". seq 1 ack 1")
                        .peer(". seq 1 ack 1").peer(". seq 1 ack 1").ours(". seq 1 ack 1 len 1460")
                        .peer(". seq 1 ack 7301").silenceMillis(500),
                Script.named("spurious timeout is found out (F-RTO)").established().userSends(30_000)
                        .oursInARow(1, 10).silenceMillis(150).ours(". seq 1 ack 1 len 1460")
                        .peer(". seq 1 ack 2921").oursInARow(14601, 2)
                        .peer(". seq 1 ack 4381").ours(". seq 17521 ack 1 len 1460"),
                Script.named("peer throws away what it reported (reneging)").establishedWithSack().userSends(5_840)
                        .oursInARow(1, 4).peer(". seq 1 ack 1 sack 1461-2921")
                        .peer(". seq 1 ack 1 sack 1461-4381").peer(". seq 1 ack 1 sack 1461-5841")
                        .ours(". seq 1 ack 1 len 1460").peer(". seq 1 ack 1461").ours(". seq 1461 ack 1 len 1460")
                        .peer(". seq 1 ack 5841").silenceMillis(500),
                Script.named("acknowledgment from before, with new SACK blocks").listen()
                        .peer("S seq 0 win 65535 mss 1460 sackOK").ours("S. seq 0 ack 1 mss 1460 sackOK").waitMillis(10)
                        .peer(". seq 1 ack 1 win 65535").userSends(14_600).oursInARow(1, 10).waitMillis(10)
                        .peer(". seq 1 ack 1 sack 1461-2921").peer(". seq 1 ack 1 sack 1461-4381")
                        .peer(". seq 1 ack 1 sack 1461-4381 sack 11681-13141").ours(". seq 1 ack 1 len 1460")
                        .waitMillis(12).peer(". seq 1 ack 5841 sack 11681-13141").oursInARow(5841, 3)
                        .userSends(14_600).waitMillis(1).peer(". seq 1 ack 4381 sack 7301-10221")
                        .ours(". seq 10221 ack 1 len 1460").ours(". seq 14601 ack 1 len 1460"),
                Script.named("silent peer is probed (keepalive)")
                        .proves("MAY-5", "MUST-24", "SHLD-12").established().userWantsKeepAlive().silenceMillis(800)
                        .ours(". seq 0 ack 1").peer(". seq 1 ack 1").silenceMillis(800).ours(". seq 0 ack 1")
                        .peer(". seq 1 ack 1").userSends(10).ours(". seq 1 ack 1 len 10"),
                Script.named("tail loss is probed").establishedWithSack().userSends(1_000)
                        .ours(". seq 1 ack 1 len 1000")
                        .ours(". seq 1 ack 1 len 1000").peer(". seq 1 ack 1001 sack 1-1001").silenceMillis(500));
    }

    /** RFC 9293 section 3.6, and Linux's behaviour if received data is discarded. */
    private static List<Script> closing() {
        return List.of(
                Script.named("half-close: the peer ends, we go on").established().peer("F. seq 1 ack 1")
                        .ours(". seq 1 ack 2").userSeesEnd().userSends(20).ours(". seq 1 ack 2 len 20")
                        .peer(". seq 2 ack 21").userCloses().ours("F. seq 21 ack 2").peer(". seq 2 ack 22")
                        .silenceMillis(300),
                Script.named("half-close: we end, the peer goes on").established().userShutsDown()
                        .ours("F. seq 1 ack 1")
                        .peer(". seq 1 ack 2").peer("P. seq 1 ack 2 len 30").ours(". seq 2 ack 31").delivered(30)
                        .peer("F. seq 31 ack 2").ours(". seq 2 ack 32"),
                Script.named("TIME-WAIT answers a FIN that comes again").established().userCloses()
                        .ours("F. seq 1 ack 1")
                        .peer(". seq 1 ack 2").peer("F. seq 1 ack 2").ours(". seq 2 ack 2").peer("F. seq 1 ack 2")
                        .ours(". seq 2 ack 2"),
                Script.named("FIN is sent again").established().userCloses().ours("F. seq 1 ack 1").silenceMillis(150)
                        .ours("F. seq 1 ack 1").peer("F. seq 1 ack 2").ours(". seq 2 ack 2"),
                Script.named("simultaneous close").established().userCloses().ours("F. seq 1 ack 1")
                        .peer("F. seq 1 ack 1").ours(". seq 2 ack 2").peer(". seq 2 ack 2").silenceMillis(300),
                Script.named("close with data unread resets").proves("MAY-1", "SHLD-3").userDoesNotRead().established()
                        .peer("P. seq 1 ack 1 len 100").ours(". seq 1 ack 101").userCloses().ours("R. seq 1 ack 101"),
                Script.named("data after close resets").established().userCloses().ours("F. seq 1 ack 1")
                        .peer(". seq 1 ack 2").peer("P. seq 1 ack 2 len 10").ours("R? seq 2"),
                Script.named("linger 0 resets")
                        .proves("MUST-12").established().userAborts().ours("R. seq 1 ack 1").silenceMillis(100)
                        .peer("P. seq 1 ack 1 len 10").ours("R seq 1"),
                Script.named("reset after the peer's FIN").established().peer("F. seq 1 ack 1").ours(". seq 1 ack 2")
                        .peer("R seq 2").waitMillis(20).silenceMillis(100));
    }
}
