package program;

import org.asynchttpclient.AsyncHttpClient;
import org.asynchttpclient.Dsl;
import org.asynchttpclient.ListenableFuture;
import org.asynchttpclient.Response;

import java.util.ArrayList;
import java.util.List;

/** Requests of AsyncHttpClient, with its default transport and with its native one. */
public final class AsyncHttpRequests {
    private AsyncHttpRequests() {
    }

    /** Requests the page in the property {@code url}. */
    public static void main(String[] args) throws Exception {
        for (boolean nativeTransport : new boolean[] {false, true}) {
            try (AsyncHttpClient client = Dsl.asyncHttpClient(Dsl.config().setUseNativeTransport(nativeTransport)
                    .setMaxConnections(8).setAcquireFreeChannelTimeout(30_000))) {
                List<ListenableFuture<Response>> answers = new ArrayList<>();
                for (int i = 0; i < 20; i++) {
                    answers.add(client.prepareGet(System.getProperty("url")).execute());
                }
                for (ListenableFuture<Response> answer : answers) {
                    System.out.println("AsyncHttpClient: " + answer.get().getStatusCode());
                }
            }
        }
    }
}
