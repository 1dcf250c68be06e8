package io.rdmaraw.testsuite.script;

import java.util.List;

/**
 * Scripts for behaviour of Linux that packetdrill checks and the other {@link Scripts} do not; see
 * {@link Packetdrill}.
 */
final class PacketdrillScripts {
    private PacketdrillScripts() {
    }

    static List<Script> all() {
        return List.of(
                Script.named("close in SYN-SENT is silent until the peer answers").connect().ours("S seq 0 sackOK")
                        .userCloses().silenceMillis(100).peer("S. seq 0 ack 1 mss 1460").ours("R seq 1"),
                Script.named("segment without ACK is dropped").established().peer("P seq 1 len 10").silenceMillis(100)
                        .delivered(0).peer("P. seq 1 ack 1 len 10").ours(". seq 1 ack 11").delivered(10),
                Script.named("timestamp of a wrong acknowledgment is not believed").establishedWithTimestamps()
                        .peer("P. seq 1 ack 5000 len 10 ts 9000").waitMillis(50).delivered(0)
                        .peer("P. seq 1 ack 1 len 10 ts 1005").ours(". seq 1 ack 11 ts 1005").delivered(10),
                Script.named("first two duplicates let new segments go").establishedFarAway().userSends(18_000)
                        .oursInARow(1, 10).peer(". seq 1 ack 1").ours(". seq 14601 ack 1 len 1460")
                        .peer(". seq 1 ack 1").ours(". seq 16061 ack 1 len 1460"),
                Script.named("first two reports let new segments go").establishedWithSack().userSends(30_000)
                        .oursInARow(1, 10).peer(". seq 1 ack 1 sack 1461-2921").ours(". seq 14601 ack 1 len 1460")
                        .peer(". seq 1 ack 1 sack 1461-4381").ours(". seq 16061 ack 1 len 1460"),
                Script.named("report of the last segment repeats those before it, a little later")
                        .establishedWithSack().userSends(5_840).oursInARow(1, 4)
                        .peer(". seq 1 ack 1 sack 4381-5841").ours(". seq 1 ack 1 len 1460")
                        .peer(". seq 1 ack 5841").silenceMillis(300),
                Script.named("report of a single byte starts no recovery").establishedWithSack().userSends(5_840)
                        .oursInARow(1, 4).peer(". seq 1 ack 1 sack 5840-5841").silenceMillis(15)
                        .peer(". seq 1 ack 5841").silenceMillis(300),
                Script.named("slow start: each segment acknowledged lets two go").establishedFarAway()
                        .userSends(21_000).oursInARow(1, 10).peer(". seq 1 ack 1461").oursInARow(14_601, 2)
                        .peer(". seq 1 ack 2921").oursInARow(17_521, 2),
                Script.named("slow start: four segments acknowledged let eight go").establishedFarAway()
                        .userSends(27_000).oursInARow(1, 10).peer(". seq 1 ack 5841").oursInARow(14_601, 8));
    }
}
