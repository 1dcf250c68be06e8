import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.PulsarClientException;

/** A client of Pulsar, whose Netty is in another package, and no broker. */
public final class PulsarProgram {
    public static void main(String[] args) throws Exception {
        try (PulsarClient client = PulsarClient.builder().serviceUrl("pulsar://127.0.0.1:1")
                .operationTimeout(1, TimeUnit.SECONDS).build()) {
            client.newProducer().topic("topic").create();
        } catch (PulsarClientException e) {
            System.out.println(e.getClass().getName());
        }
        System.out.println("done");
    }
}
