/** Who is signed in, and which model answers: null stands for the offline responder. */
export interface Me {
  readonly user: string | null;
  readonly model: string | null;
}
