interface WelcomeProps {
  user: string;
  isOffline: boolean;
  onPick: (text: string) => void;
}

const IDEAS = ["What do you know about me?", "I live in Lisbon and I love cycling.", "How does this work?"];

export function Welcome({ user, isOffline, onPick }: WelcomeProps) {
  return (
    <div className="welcome">
      <h2>Hello, {user}.</h2>
      <p>What you say about yourself is remembered in all of your chats.</p>
      <ul>
        {IDEAS.map((idea) => (
          <li key={idea}>
            <button type="button" onClick={() => onPick(idea)}>
              {idea}
            </button>
          </li>
        ))}
      </ul>
      {isOffline ? (
        <p className="fine">
          No model is configured, so a few fixed rules answer. Set <code>STEMMA_MODEL</code> to chat with one.
        </p>
      ) : null}
    </div>
  );
}
