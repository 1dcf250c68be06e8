import org.apache.activemq.artemis.api.core.QueueConfiguration;
import org.apache.activemq.artemis.api.core.RoutingType;
import org.apache.activemq.artemis.api.core.client.ActiveMQClient;
import org.apache.activemq.artemis.api.core.client.ClientConsumer;
import org.apache.activemq.artemis.api.core.client.ClientMessage;
import org.apache.activemq.artemis.api.core.client.ClientProducer;
import org.apache.activemq.artemis.api.core.client.ClientSession;
import org.apache.activemq.artemis.api.core.client.ClientSessionFactory;
import org.apache.activemq.artemis.api.core.client.ServerLocator;
import org.apache.activemq.artemis.core.config.Configuration;
import org.apache.activemq.artemis.core.config.impl.ConfigurationImpl;
import org.apache.activemq.artemis.core.server.embedded.EmbeddedActiveMQ;

/** A broker of Artemis and its client. */
public final class ArtemisProgram {
    private static final String URL = "tcp://127.0.0.1:61697";

    public static void main(String[] args) throws Exception {
        Configuration configuration = new ConfigurationImpl().setPersistenceEnabled(false).setSecurityEnabled(false)
                .addAcceptorConfiguration("tcp", URL);
        EmbeddedActiveMQ broker = new EmbeddedActiveMQ().setConfiguration(configuration).start();
        long bytes = 0;
        try (ServerLocator locator = ActiveMQClient.createServerLocator(URL);
                ClientSessionFactory factory = locator.createSessionFactory();
                ClientSession session = factory.createSession()) {
            session.createQueue(QueueConfiguration.of("queue").setRoutingType(RoutingType.ANYCAST));
            ClientProducer producer = session.createProducer("queue");
            ClientConsumer consumer = session.createConsumer("queue");
            session.start();
            for (int i = 0; i < 100; i++) {
                ClientMessage message = session.createMessage(false);
                message.getBodyBuffer().writeBytes(new byte[i * 100]);
                producer.send(message);
                ClientMessage received = consumer.receive(30_000);
                bytes += received.getBodyBuffer().readableBytes();
                received.acknowledge();
            }
        }
        System.out.println("bytes " + bytes);
        broker.stop();
        System.out.println("done");
        System.exit(0);
    }
}
